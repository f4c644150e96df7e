"""Experience replay: train on the stream and on a random batch from a reservoir memory.

Chaudhry et al. 2019, "On Tiny Episodic Memories in Continual Learning".
The variant with two forward passes and a sum of two mean losses, as in the field's code. The
default hooks of Method implement it.
"""

from __future__ import annotations

from dataclasses import dataclass

from bison_ocl.look import BLACK, Look
from bison_ocl.methods.method import Method


@dataclass(frozen=True, kw_only=True)
class ER(Method):
    """Random retrieval, reservoir update, linear head."""

    title = "ER"
    look = Look(BLACK, "o")

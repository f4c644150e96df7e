"""Fine-tuning: train on the stream alone; the reference for intransigence.

Wen, Heinis & Choi 2026 (BISON), §5.1, "Evaluation Metrics".
The empirical bound a*_j is its accuracy on task j right after task j, on the same stream.
"""

from __future__ import annotations

from dataclasses import dataclass

from bison_ocl.batch import Batch
from bison_ocl.look import GREY, Look
from bison_ocl.memory.memory import Write
from bison_ocl.methods.method import Method
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class FineTune(Method):
    """No memory, no replay."""

    title = "FINE-TUNE"
    look = Look(GREY, "X", ":")
    learned = (20,)
    replays = False
    ignores = ("joint", "buffer_batch", "exact_reservoir")

    def retrieve(self, me: State, new: Batch) -> Batch | None:
        return None

    def store(self, me: State, new: Batch) -> Write | None:
        return None

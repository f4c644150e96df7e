"""BISON-ALD: BISON's losses on more of the memory, Averaged weights, a Linear Discriminant.

A method of this library, not of the paper: docs/BEYOND.md. Weight averaging in online continual
learning is known from Soutif-Cormerais et al. 2023, a shrunk discriminant from Hayes & Kanan 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bison_ocl.batch import Batch, to_float
from bison_ocl.bounds import Decay, Positive
from bison_ocl.inference.features import Views
from bison_ocl.inference.linear_discriminant import LinearDiscriminant
from bison_ocl.inference.rule import Rule
from bison_ocl.look import VERMILION, Look
from bison_ocl.methods.bison import Bison
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class BisonALD(Bison):
    """The paper's 40 images per step: 10 of the stream, and 15 of the memory with a view each."""

    title = "BISON-ALD"
    look = Look(VERMILION, (8, 1, 0), "--", width=2.0)
    learned: ClassVar[tuple[int, ...]] = (30,)
    boundaries = True
    ignores: ClassVar[tuple[str, ...]] = ("ncm_normalise",)
    reads_average = True

    buffer_batch: int = 15
    """images drawn from the memory in a step"""
    joint: bool = True
    """one forward pass for stream and memory together, so that they share batch statistics"""
    average: Decay = 0.995
    """decay per step of the average of the weights, which predicts"""
    shrinkage: Positive = 3.0
    """how many times the covariance's mean diagonal is added to its diagonal"""

    def view(self, me: State, *batches: Batch, name: str = "view") -> list[Batch]:
        """The stream batch as it is; the memory batch with its views."""
        new, *old = batches
        stream = Batch(to_float(new.x, me.net.dtype), new.y)
        return [stream, *(super().view(me, *old, name=name) if old else [])]

    @property
    def rule(self) -> Rule:
        """Nearest class mean that knows how features spread, with mirror images."""
        return LinearDiscriminant(self.shrinkage, Views(mirror=True))

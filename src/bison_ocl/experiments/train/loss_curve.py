"""Training loss over a run: its mean over about a hundred intervals of steps.

The sums stay on the device, so that no step waits for the host to read a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan

import torch
from torch import Tensor

from bison_ocl.experiments.records.record import Losses

POINTS = 100
"""the most per run"""


@dataclass(frozen=True)
class Intervals:
    """The steps of a run in equal intervals; the last one may be short."""

    steps: int

    @cached_property
    def length(self) -> int:
        return max(1, -(-self.steps // POINTS))

    @cached_property
    def ends(self) -> list[int]:
        """The last step of each interval."""
        return [min(at + self.length, self.steps) for at in range(0, self.steps, self.length)]

    def start(self, step: int, sums: Sequence[float]) -> list[float]:
        """Sums to continue from; NaN for intervals that an older checkpoint did not keep."""
        if sums:
            return list(sums)
        return [nan if end - self.length < step else 0.0 for end in self.ends]

    def curve(self, sums: Sequence[float]) -> Losses:
        """The curve of a record: means by the last step of their interval; None once diverged."""
        lengths = [end - start for start, end in zip([0, *self.ends], self.ends, strict=False)]
        means = [total / length for total, length in zip(sums, lengths, strict=True)]
        return Losses(self.ends, [x if isfinite(x) else None for x in means])


class LossSums:
    """Sums per interval of runs trained together, on their device."""

    def __init__(self, intervals: Intervals, sums: Sequence[Sequence[float]], device: str) -> None:
        columns = torch.tensor(sums, dtype=torch.float64, device=device)
        self.length = intervals.length
        self.intervals = columns.T.contiguous().unbind()

    def add(self, step: int, loss: Tensor) -> None:
        """Add the loss of a step, counted from 1; a number, or one per run."""
        self.intervals[(step - 1) // self.length].add_(loss)

    def read(self) -> list[list[float]]:
        """The sums of each run; the host waits for the device."""
        by_run: list[list[float]] = torch.stack(self.intervals).T.tolist()
        return by_run

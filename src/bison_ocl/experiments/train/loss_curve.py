"""The training loss over a run: its mean over about a hundred intervals of steps.

It is summed up where the steps run, so that no step waits for the host to read a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan
from typing import Any

import torch
from torch import Tensor

POINTS = 100
"""of a run at most"""


@dataclass(frozen=True)
class Intervals:
    """The steps of a run cut into equal parts; the last one may be short."""

    steps: int

    @cached_property
    def length(self) -> int:
        return max(1, -(-self.steps // POINTS))

    @cached_property
    def ends(self) -> list[int]:
        """The last step of each."""
        return [min(at + self.length, self.steps) for at in range(0, self.steps, self.length)]

    def start(self, step: int, sums: Sequence[float]) -> list[float]:
        """Sums to go on from; unknown ones where a checkpoint of an older version kept none."""
        if sums:
            return list(sums)
        return [nan if end - self.length < step else 0.0 for end in self.ends]

    def curve(self, sums: Sequence[float]) -> dict[str, list[Any]]:
        """What a record says: means by the last step of their interval; None once diverged."""
        lengths = [end - start for start, end in zip([0, *self.ends], self.ends, strict=False)]
        means = [total / length for total, length in zip(sums, lengths, strict=True)]
        return {"steps": self.ends, "loss": [x if isfinite(x) else None for x in means]}


class LossSums:
    """Sums by interval of runs that step together, on their device."""

    def __init__(self, intervals: Intervals, sums: Sequence[Sequence[float]], device: str) -> None:
        columns = torch.tensor(sums, dtype=torch.float64, device=device)
        self.length = intervals.length
        self.intervals = columns.T.contiguous().unbind()

    def add(self, step: int, loss: Tensor) -> None:
        """Count the loss of a step, the first being 1; a number, or one for each run."""
        self.intervals[(step - 1) // self.length].add_(loss)

    def read(self) -> list[list[float]]:
        """For each run its sums; the host waits for them."""
        by_run: list[list[float]] = torch.stack(self.intervals).T.tolist()
        return by_run

"""Records in groups, one an experiment over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bison_ocl.evaluate.metrics import accuracy_curve
from bison_ocl.report.study import places
from bison_ocl.report.study.entry import Entry

Floats = npt.NDArray[np.float64]


class NotShown(ValueError):
    """Why records do not make a figure."""


@dataclass(frozen=True)
class Group:
    """One experiment over its seeds."""

    records: tuple[Entry, ...]

    @property
    def first(self) -> Entry:
        return self.records[0]

    @property
    def method(self) -> str:
        return str(self.first.method)

    @property
    def n(self) -> int:
        return len(self.records)

    def has(self, metric: str) -> bool:
        """Whether every seed has a metric."""
        return all(getattr(record.metrics, metric) is not None for record in self.records)

    def percent(self, metric: str) -> Floats:
        """A metric of each seed, in percent [seeds]."""
        return 100 * np.array([getattr(record.metrics, metric) for record in self.records])

    def curves(self) -> Floats:
        """Average accuracy after each task, in percent [seeds, T]."""
        return 100 * np.array([accuracy_curve(record.accuracy) for record in self.records])


def grouped(records: Sequence[Entry]) -> list[Group]:
    """One group an experiment, in order of appearance."""
    found: dict[str, list[Entry]] = {}
    for record in records:
        found.setdefault(record.experiment, []).append(record)
    return [Group(tuple(group)) for group in found.values()]


def compared(records: Sequence[Entry]) -> list[Entry]:
    """Without FINE-TUNE, which is there for AI alone, unless there is nothing else."""
    return places.compared(records) or list(records)


def mean(values: Floats) -> Floats:
    """Over seeds [seeds, ...]."""
    return np.asarray(values.mean(0))


def deviation(values: Floats) -> Floats:
    """Sample standard deviation over seeds [seeds, ...]; 0 for a single one."""
    return np.asarray(values.std(0, ddof=1) if len(values) > 1 else np.zeros_like(values[0]))

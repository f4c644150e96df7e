"""Runs in groups: one group per experiment, beside the others it can be compared with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bison_ocl.evaluate.metrics import Spread, accuracy_curve, spread
from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.intransigence import same_stream
from bison_ocl.report.study.places import Place, place_of

Floats = npt.NDArray[np.float64]
Number = Callable[[Entry], float | None]
"""A number of a run; None where the run does not have it."""


@dataclass(frozen=True)
class Group:
    """One experiment over its seeds, at the place where it is shown."""

    records: tuple[Entry, ...]
    place: Place

    @property
    def first(self) -> Entry:
        return self.records[0]

    @property
    def method(self) -> str:
        return self.first.method

    @property
    def reference(self) -> bool:
        """Whether it is FINE-TUNE, which runs for AI alone."""
        return self.method == REFERENCE

    @property
    def rescored(self) -> bool:
        """Whether the network of another group is scored here by another rule."""
        return self.first.rule is not None

    @property
    def n(self) -> int:
        return len(self.records)

    def values(self, number: Number) -> dict[Hashable, float]:
        """A number of each run that has it, by stream and seed, so that groups can be paired."""
        found = {same_stream(record): number(record) for record in self.records}
        return {stream: value for stream, value in found.items() if value is not None}

    def has(self, number: Number) -> bool:
        """Whether every run has a number."""
        return len(self.values(number)) == self.n

    def over(self, number: Number) -> Spread:
        """Mean and deviation of a number that the runs have."""
        return spread(list(self.values(number).values()))

    def curves(self) -> Floats:
        """Average accuracy after each task, in percent [seeds, T]."""
        return 100 * np.array([accuracy_curve(record.accuracy) for record in self.records])


def grouped(records: Iterable[Entry]) -> list[Group]:
    """The experiments in order of appearance.

    FINE-TUNE keeps no memory: its runs stand beside every memory size on their stream.
    """
    found: dict[str, list[Entry]] = {}
    for record in records:
        found.setdefault(record.experiment, []).append(record)
    places = [place_of(group[0]) for group in found.values() if group[0].method != REFERENCE]
    return [
        Group(tuple(group), place) for group in found.values() for place in beside(group[0], places)
    ]


def beside(record: Entry, places: Sequence[Place]) -> list[Place]:
    """Where an experiment is shown: at its own place, or FINE-TUNE at all of its stream."""
    own = place_of(record)
    same = [place for place in places if place.stream_of == own.stream_of]
    shown = record.method == REFERENCE and same
    return list(dict.fromkeys(same)) if shown else [own]


def middle(values: Floats) -> Floats:
    """Mean over seeds [seeds, ...]."""
    return np.asarray(values.mean(0))


def deviation(values: Floats) -> Floats:
    """Sample standard deviation over seeds [seeds, ...]; 0 for a single one."""
    return np.asarray(values.std(0, ddof=1) if len(values) > 1 else np.zeros_like(values[0]))


def own(groups: Sequence[Group]) -> list[Group]:
    """Methods by their own rule: a network scored by another rule too is not another run."""
    return [group for group in groups if not group.rescored]


def compared(groups: Sequence[Group]) -> list[Group]:
    """Without FINE-TUNE, which runs for AI alone."""
    return [group for group in groups if not group.reference]

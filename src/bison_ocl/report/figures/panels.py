"""Panels: experiments that can be compared, at one place or on one stream."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bison_ocl.report.figures.chart import Kind, Numbers, Series
from bison_ocl.report.study.experiments import Experiment
from bison_ocl.report.study.names import memory_name, stream_name
from bison_ocl.report.study.places import Place, in_order


@dataclass(frozen=True)
class Panel:
    """The experiments at one place, or with all memory sizes on one stream."""

    lines: tuple[Experiment, ...]

    @property
    def place(self) -> Place:
        return self.lines[0].place

    @property
    def stream(self) -> str:
        return stream_name(self.lines[0].first)

    @property
    def where(self) -> str:
        """`Split CIFAR-10, M = 0.5k`; the stream alone where memory sizes differ."""
        memory, *others = {one.place.memory for one in self.lines}
        return self.stream if others else f"{self.stream}, {memory_name(memory)}"

    @property
    def seeds(self) -> str:
        """`n = 10`, or `n = 3–10` where experiments differ."""
        counts = sorted({one.n for one in self.lines})
        return f"n = {'–'.join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))}"

    @property
    def title(self) -> str:
        return f"{self.where}, {self.seeds}"


def panels(experiments: Sequence[Experiment], by_stream: bool = False) -> list[Panel]:
    """One panel per place, or per stream, in the paper's order."""
    rank = {place: at for at, place in enumerate(in_order(one.place for one in experiments))}
    groups: dict[Hashable, list[Experiment]] = {}
    for one in sorted(experiments, key=lambda one: rank[one.place]):
        groups.setdefault(one.place.stream_of if by_stream else one.place, []).append(one)
    return [Panel(tuple(lines)) for lines in groups.values()]


def series(one: Experiment, x: Numbers, y: Numbers, kind: Kind, **other: Any) -> Series:
    """Numbers of an experiment in its own name and look, or in another."""
    return replace(Series(one.title, one.look, x, y, kind, one.method), **other)

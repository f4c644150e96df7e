"""Panels: the experiments at one place, which can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bison_ocl.report.figures.chart import Kind, Numbers, Series
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment
from bison_ocl.report.study.names import memory_name, stream_name
from bison_ocl.report.study.places import Place, in_order


@dataclass(frozen=True)
class Panel:
    """The experiments at one place."""

    place: Place
    lines: tuple[Experiment, ...]

    @property
    def title(self) -> str:
        """`Split CIFAR-10, M = 0.5k, n = 10`; the stream too if it is not the usual."""
        return f"{self.where}, {seeds([self])}"

    @property
    def where(self) -> str:
        return f"{stream_title([self])}, {memory_name(self.place.memory)}"


def panels(found: Iterable[Experiment]) -> list[Panel]:
    """One panel per place, in the paper's order."""
    by_place: dict[Place, list[Experiment]] = {}
    for one in found:
        by_place.setdefault(one.place, []).append(one)
    return [Panel(place, tuple(by_place[place])) for place in in_order(by_place)]


def by_stream(panels: Iterable[Panel]) -> list[list[Panel]]:
    """The panels of each stream: one per memory size."""
    found: dict[tuple[str, ...], list[Panel]] = {}
    for panel in panels:
        found.setdefault(panel.place.stream_of, []).append(panel)
    return list(found.values())


def only(panels: Iterable[Panel], kept: Callable[[Experiment], bool]) -> list[Panel]:
    """The panels with some of their experiments; those that keep none are left out."""
    fewer = (replace(panel, lines=tuple(filter(kept, panel.lines))) for panel in panels)
    return [panel for panel in fewer if panel.lines]


def having(panels: Iterable[Panel], has: Callable[[Entry], object]) -> list[Panel]:
    """The panels with the runs that have something."""

    def fewer(one: Experiment) -> Experiment:
        return replace(one, records=tuple(filter(has, one.records)))

    found = (replace(panel, lines=tuple(map(fewer, panel.lines))) for panel in panels)
    return only(found, lambda one: bool(one.records))


def compared(panels: Iterable[Panel]) -> list[Panel]:
    """Without FINE-TUNE, the reference of AI, unless there is nothing else."""
    return [one for panel in panels for one in only([panel], is_compared) or [panel]]


def is_compared(one: Experiment) -> bool:
    return not one.label.reference


def own(panels: Iterable[Panel]) -> list[Panel]:
    """Without networks that are scored again by another rule: they were trained once."""
    return only(panels, lambda one: not one.rescored)


def stream_title(panels: Sequence[Panel]) -> str:
    """The stream that panels share."""
    return stream_name(panels[0].lines[0].first)


def seeds(panels: Sequence[Panel]) -> str:
    """`n = 10`, or `n = 3–10` where experiments differ."""
    counts = sorted({one.n for panel in panels for one in panel.lines})
    return f"n = {'–'.join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))}"


def series(one: Experiment, x: Numbers, y: Numbers, kind: Kind, **other: Any) -> Series:
    """Numbers of an experiment in its own name and look, or in another."""
    return replace(Series(one.title, one.look, x, y, kind, one.method), **other)

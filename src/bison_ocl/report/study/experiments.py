"""Experiments: one method with one choice of settings over seeds, with a name and a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bison_ocl.evaluate.metrics import Spread, accuracy_curve, spread
from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.records.spec import defaults
from bison_ocl.look import Look
from bison_ocl.report.study.entry import Entry, same_stream
from bison_ocl.report.study.labels import Label, label_of, planned
from bison_ocl.report.study.looks import looks_of, numbered
from bison_ocl.report.study.paper import printed
from bison_ocl.report.study.places import Place, place_of

Floats = npt.NDArray[np.float64]
Number = Callable[[Entry], float | None]
"""A number of a run; None where the run does not have it."""

Group = tuple[Label, tuple[Entry, ...]]
"""The runs of a line."""

DASHES = (":", "-.")
FEW = len(DASHES)
"""variants of a method that share its colour; more have colours of their own"""


@dataclass(frozen=True)
class Experiment:
    """One method with one choice of settings over its seeds, at the place where it is shown."""

    item: str
    place: Place
    records: tuple[Entry, ...]
    label: Label
    method_look: Look
    look: Look
    """of these settings; the method's, or that of a variant"""

    @property
    def first(self) -> Entry:
        return self.records[0]

    @property
    def method(self) -> str:
        return self.first.method

    @property
    def title(self) -> str:
        return self.label.text

    @property
    def rescored(self) -> bool:
        """Whether the network of another experiment is scored here by another inference rule."""
        return self.first.rule is not None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of its runs; one that is younger than they are has its default."""
        return defaults(self.method) | self.first.settings

    @property
    def n(self) -> int:
        return len(self.records)

    def values(self, number: Number) -> dict[Hashable, float]:
        """A number of each run that has it, by stream and seed, for paired tests."""
        found = {same_stream(record): number(record) for record in self.records}
        return {stream: value for stream, value in found.items() if value is not None}

    def has(self, number: Number) -> bool:
        """Whether every run has a number."""
        return len(self.values(number)) == self.n

    def over(self, number: Number) -> Spread:
        """Mean and deviation of a number over the runs that have it."""
        return spread(list(self.values(number).values()))

    def curves(self) -> Floats:
        """Average accuracy after each task, in percent [seeds, T]."""
        return 100 * np.array([accuracy_curve(record.accuracy) for record in self.records])

    def printed(self, metric: str) -> float | None:
        """The paper's number; None for a stream, settings or a reading that it does not have."""
        if self.label.superseded:
            return None
        found = printed(self.item, metric, self.label.printed, self.place)
        return None if found is None else found.mean


def experiments(
    item: str, records: Iterable[Entry], looks: Mapping[str, Look] | None = None
) -> list[Experiment]:
    """The experiments of an item in the order of its plan, others in order of appearance.

    Runs appear as they ended: next to each other on a GPU, in any order. FINE-TUNE keeps no memory:
    its runs are shown with every memory size on their stream.
    looks: of the methods of the whole study, where other items are shown with this one.
    """
    records = list(records)
    looks = looks_of([records]) if looks is None else looks
    name, found = label_of(item, records), dict[str, list[Entry]]()
    for record in records:
        found.setdefault(record.experiment, []).append(record)
    groups = in_plan_order(item, [(name(group[0]), tuple(group)) for group in found.values()])
    others = [place_of(group[0]) for label, group in groups if not label.reference]
    shown = [
        Experiment(item, place, group, label, look, look)
        for label, group in groups
        for look in [looks[group[0].method]]
        for place in (label.reference and same_streams(group[0], others)) or [place_of(group[0])]
    ]
    return with_looks(distinct(shown))


def in_plan_order(item: str, groups: Sequence[Group]) -> list[Group]:
    """References first, then what is planned, then what is not."""
    if item not in ITEMS:
        return list(groups)
    lines = dict.fromkeys(map(label_of(item), planned(item)))
    rank = {label: place for place, label in enumerate(lines)}
    return sorted(groups, key=lambda one: (not one[0].reference, rank.get(one[0], len(rank))))


def distinct(found: Sequence[Experiment]) -> list[Experiment]:
    """The experiments by different names: those of one name at a place also name the precision.

    tf32 is usual on a GPU and fp32 on a CPU, so that neither is named where it is alone.
    """
    counts = Counter((one.title, one.place) for one in found)
    return [
        replace(one, label=replace(one.label, text=f"{one.title} ({one.first.precision})"))
        if counts[one.title, one.place] > 1
        else one
        for one in found
    ]


def same_streams(record: Entry, places: Sequence[Place]) -> list[Place]:
    """The places on the stream of a run, each once."""
    own = place_of(record)
    return list(dict.fromkeys(place for place in places if place.stream_of == own.stream_of))


def by_own_rule(found: Iterable[Experiment]) -> list[Experiment]:
    """The experiments without networks scored again by another rule, which were trained once."""
    return [one for one in found if not one.rescored]


def compared(found: Sequence[Experiment]) -> list[Experiment]:
    """The experiments without FINE-TUNE, the reference of AI, unless a place has nothing else."""
    others = {one.place for one in found if not one.label.reference}
    return [one for one in found if not one.label.reference or one.place not in others]


def varied(found: Sequence[Experiment]) -> list[str]:
    """The settings in which experiments differ."""
    settings = [one.settings for one in found]
    names = dict.fromkeys(name for one in settings for name in one)
    return [name for name in names if len({str(one.get(name)) for one in settings}) > 1]


def having(found: Iterable[Experiment], has: Callable[[Entry], object]) -> list[Experiment]:
    """The experiments with the runs that have something."""
    fewer = (replace(one, records=tuple(filter(has, one.records))) for one in found)
    return [one for one in fewer if one.records]


# --- looks ---


def with_looks(found: Sequence[Experiment]) -> list[Experiment]:
    """Methods look the same in every figure; variants of one method, in every panel of a figure."""
    titles: dict[str, set[str]] = {}
    for one in found:
        titles.setdefault(one.method, set()).add(one.title)
    numbers: dict[str, int] = {}
    variants: dict[str, dict[str, str]] = {}
    drawn = []
    for one in found:
        several, look = len(titles[one.method]), one.look
        plain = one.label.printed == one.method and not one.label.reading
        if not (one.label.main or plain or several == 1):
            other = numbered(numbers.setdefault(one.title, 1 + len(numbers)))
            alike = variants.setdefault(one.method, {})
            dashes = alike.setdefault(one.title, DASHES[len(alike) % FEW])
            look = other if several > FEW else replace(look, marker=other.marker, dashes=dashes)
        drawn.append(replace(one, look=look))
    return drawn

"""Groups that can be compared, side by side in one panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bison_ocl.look import GREY, PALETTE, Look, Marker
from bison_ocl.methods import known
from bison_ocl.report.figures.chart import Kind, Numbers, Series
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Group
from bison_ocl.report.study.labels import Label, LabelOf
from bison_ocl.report.study.names import memory_name, stream_name
from bison_ocl.report.study.paper import printed
from bison_ocl.report.study.places import Place, in_order

MARKERS: tuple[Marker, ...] = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "p", "h", "d")
FEW = 2
"""looks of one method that its colour can have; more variants have colours of their own"""
LONGEST = 44
"""characters of a title's stream: the path of a folder may be longer"""


@dataclass(frozen=True)
class Line:
    """A group as a panel shows it."""

    group: Group
    label: Label
    look: Look

    @property
    def title(self) -> str:
        return self.label.text

    def series(self, x: Numbers, y: Numbers, kind: Kind, **other: Any) -> Series:
        """The group's numbers in its own name and look, or in another."""
        made = Series(self.title, self.look, x, y, kind, self.group.method)
        return replace(made, **other)

    def printed(self, item: str, metric: str) -> float | None:
        """What the paper prints; None for a stream or settings that it does not have."""
        if self.label.reading:
            return None
        found = printed(item, metric, self.label.printed, self.group.place)
        return None if found is None else found.mean


@dataclass(frozen=True)
class Panel:
    """The experiments at one place."""

    item: str
    place: Place
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """`Split CIFAR-10, M = 0.5k, n = 10`; the stream too if it is not the usual."""
        return f"{stream_title(self)}, {memory_name(self.place.memory)}, {seeds([self])}"


def panels(item: str, groups: Sequence[Group], label_of: LabelOf) -> list[Panel]:
    """One panel per place, in the paper's order."""
    found: dict[Place, list[Line]] = {}
    for line in lines(groups, [label_of(group.first) for group in groups]):
        found.setdefault(line.group.place, []).append(line)
    return [Panel(item, place, tuple(found[place])) for place in in_order(found)]


def only(panels: Iterable[Panel], kept: Callable[[Line], bool]) -> list[Panel]:
    """The panels with some of their lines; those that keep none are left out."""
    fewer = (replace(panel, lines=tuple(filter(kept, panel.lines))) for panel in panels)
    return [panel for panel in fewer if panel.lines]


def having(panels: Iterable[Panel], has: Callable[[Entry], object]) -> list[Panel]:
    """The panels with the runs that have something."""
    fewer = (replace(one, lines=tuple(map(partial(kept, has), one.lines))) for one in panels)
    return only(fewer, lambda line: bool(line.group.records))


def kept(has: Callable[[Entry], object], line: Line) -> Line:
    runs = tuple(record for record in line.group.records if has(record))
    return replace(line, group=replace(line.group, records=runs))


def compared(panels: Iterable[Panel]) -> list[Panel]:
    """Without FINE-TUNE, which runs for AI alone, unless there is nothing else."""
    return [one for panel in panels for one in only([panel], others) or [panel]]


def others(line: Line) -> bool:
    return not line.group.reference


def own(panels: Iterable[Panel]) -> list[Panel]:
    """Without networks that are scored by another rule too: they were trained once."""
    return only(panels, lambda line: not line.group.rescored)


def lines(groups: Sequence[Group], labels: Sequence[Label]) -> list[Line]:
    """Methods look the same in every figure; variants of one method, in every panel of a figure."""
    titles: dict[str, set[str]] = {}
    for group, label in zip(groups, labels, strict=True):
        titles.setdefault(group.method, set()).add(label.text)
    numbers: dict[str, int] = {}
    found = []
    for group, label in zip(groups, labels, strict=True):
        several = len(titles[group.method])
        plain = label.printed == group.method and not label.reading
        drawn = look(group.method)
        if not (label.main or plain or several == 1):
            number = numbers.setdefault(label.text, 1 + len(numbers))
            other = numbered(number)
            drawn = other if several > FEW else replace(drawn, marker=other.marker, dashes=":")
        found.append(Line(group, label, drawn))
    return found


def look(method: str) -> Look:
    """The look of a method, or of a method under another rule, such as `er + ncm`."""
    name, _, rule = method.partition(" + ")
    kind = known(name)
    found = kind.look if kind else Look(GREY, "o")
    return replace(found, hollow=True, dashes=":") if rule else found


def numbered(place: int) -> Look:
    """The look of a variant, by its place in a list."""
    colour, marker = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
    return Look(colour, marker, "-" if place < len(PALETTE) else "--")


def stream_title(panel: Panel) -> str:
    stream = stream_name(panel.lines[0].group.first)
    return stream if len(stream) <= LONGEST else f"…{stream[-LONGEST:]}"


def seeds(panels: Sequence[Panel]) -> str:
    """`n = 10`, or `n = 3–10` where groups differ."""
    counts = sorted({line.group.n for panel in panels for line in panel.lines})
    return f"n = {'–'.join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))}"

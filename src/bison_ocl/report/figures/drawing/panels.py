"""Groups that can be compared, side by side in one panel of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bison_ocl.look import Look
from bison_ocl.report.figures.drawing.style import look, numbered
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Group, grouped
from bison_ocl.report.study.labels import LabelOf
from bison_ocl.report.study.names import memory_name, stream_name
from bison_ocl.report.study.paper import printed
from bison_ocl.report.study.places import Place, in_every_place, in_order, place_of
from bison_ocl.report.tables.cells import Label

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

    def printed(self, item: str, metric: str) -> float | None:
        """What the paper prints; None for a stream or settings that it does not have."""
        if self.label.reading:
            return None
        found = printed(item, metric, self.label.printed, place_of(self.group.first))
        return None if found is None else found.mean


@dataclass(frozen=True)
class Panel:
    """What was run at one place: the same stream, the same memory."""

    lines: tuple[Line, ...]

    @property
    def groups(self) -> list[Group]:
        return [line.group for line in self.lines]

    @property
    def place(self) -> Place:
        return place_of(self.lines[0].group.first)

    @property
    def memory(self) -> int:
        return self.place[3]

    @property
    def tasks(self) -> int:
        return len(self.lines[0].group.first.accuracy)

    @property
    def title(self) -> str:
        """`Split CIFAR-10, M = 0.5k, n = 10`; the stream too if it is not the usual."""
        return f"{place_title(self.lines[0].group)}, {seeds(self.groups)}"


def panels(records: Sequence[Entry], label_of: LabelOf) -> list[Panel]:
    """One panel a place; FINE-TUNE, which has no memory, stands in all of its stream's."""
    groups = grouped(in_every_place(records))
    found: dict[Place, list[Line]] = {}
    for line in lines(groups, [label_of(group.first) for group in groups]):
        found.setdefault(place_of(line.group.first), []).append(line)
    return [Panel(tuple(found[place])) for place in in_order(found)]


def lines(groups: Sequence[Group], labels: Sequence[Label]) -> list[Line]:
    """Methods look the same in every figure; variants of one method, in every panel of a figure."""
    titles: dict[str, set[str]] = {}
    for group, label in zip(groups, labels, strict=True):
        titles.setdefault(group.method, set()).add(label.text)
    numbers: dict[str, int] = {}
    found = []
    for group, label in zip(groups, labels, strict=True):
        plain = label.printed == group.method and not label.reading
        usual = label.main or plain or len(titles[group.method]) == 1
        number = 0 if usual else numbers.setdefault(label.text, 1 + len(numbers))
        found.append(Line(group, label, look(group.method) if usual else numbered(number)))
    return found


def place_title(group: Group) -> str:
    stream = stream_name(group.first)
    shown = stream if len(stream) <= LONGEST else f"…{stream[-LONGEST:]}"
    return f"{shown}, {memory_name(group.first.memory)}"


def seeds(groups: Sequence[Group]) -> str:
    """`n = 10`, or `n = 3–10` where groups differ."""
    counts = sorted({group.n for group in groups})
    return f"n = {'–'.join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))}"

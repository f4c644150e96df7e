"""A table as a value: lines of cells, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from bison_ocl.evaluate.metrics import Spread, spread
from bison_ocl.report.study.labels import Label
from bison_ocl.report.study.measures import Measure
from bison_ocl.report.study.paper import Published
from bison_ocl.report.study.places import Place

LEVEL = 0.05
"""of significance"""
CLOSE, NEAR = 1.0, 3.0
"""differences from the paper, in points of percent, up to which a cell is close or near"""

Size = Literal["close", "near", "far"]


@dataclass(frozen=True)
class Column:
    """What a column is."""

    place: Place
    group: str
    label: str
    measure: Measure


@dataclass(frozen=True)
class Cell:
    """The runs of a line in a column; none of them: the cell is missing."""

    values: Mapping[Hashable, float] = field(default_factory=dict)
    """by stream and seed, so that lines can be paired"""
    paper: Published | None = None
    over_tasks: float | None = None
    rank: int = 0
    """1 for the best, 2 for the runner-up"""
    p: float | None = None
    """that it does not differ from the main line, corrected"""

    @cached_property
    def ours(self) -> Spread | None:
        return spread(list(self.values.values())) if self.values else None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.ours is None or self.paper is None else self.ours.mean - self.paper.mean

    @property
    def differs(self) -> bool:
        """Whether it differs from the main line, significantly."""
        return self.p is not None and self.p < LEVEL

    def distance(self, unit: str) -> Size | None:
        """How far ours is from the paper's: in points of percent, or of a count by its share."""
        if self.difference is None or self.paper is None or unit not in ("%", ""):
            return None
        points = abs(self.difference) * (1 if unit == "%" else 100 / self.paper.mean)
        return "close" if points <= CLOSE else "near" if points <= NEAR else "far"


@dataclass(frozen=True)
class Line:
    """A label and a cell for each column."""

    label: Label
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Everything the text, Markdown, LaTeX and CSV of a table are made from."""

    name: str
    """of its files"""
    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...] = ()
    heading: str = "method"
    category: str = "kind"
    planned: int | None = None
    """runs of a whole cell"""
    notes: tuple[str, ...] = ()

    def groups(self) -> dict[str, list[int]]:
        """The columns of each group, by number."""
        found: dict[str, list[int]] = {}
        for number, column in enumerate(self.columns):
            found.setdefault(column.group, []).append(number)
        return found

    def only(self, numbers: Sequence[int]) -> Table:
        """Some of the columns."""
        lines = (replace(one, cells=tuple(one.cells[i] for i in numbers)) for one in self.lines)
        return replace(self, columns=tuple(self.columns[i] for i in numbers), lines=tuple(lines))

    def compared(self, number: int) -> bool:
        """Whether the paper has anything in a column."""
        return any(line.cells[number].paper is not None for line in self.lines)

    @property
    def kinds(self) -> bool:
        """Whether lines have a category."""
        return any(line.label.category for line in self.lines)

    @property
    def cells(self) -> list[Cell]:
        return [cell for line in self.lines for cell in line.cells]

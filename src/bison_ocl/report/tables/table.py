"""A table as a value: rows of our runs, each compared with the paper's number."""

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
    """A measure at a place, as a column."""

    place: Place
    block: str
    """the columns that are printed together"""
    label: str
    measure: Measure


@dataclass(frozen=True)
class Comparison:
    """The runs of a row in a column with the paper's number; missing if there are no runs."""

    values: Mapping[Hashable, float] = field(default_factory=dict)
    """by stream and seed, for paired tests"""
    paper: Published | None = None
    over_tasks: float | None = None
    rank: int = 0
    """1 for the best, 2 for the runner-up"""
    p: float | None = None
    """of the hypothesis that it equals the main row, corrected for the number of tests"""

    @cached_property
    def ours(self) -> Spread | None:
        return spread(list(self.values.values())) if self.values else None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.ours is None or self.paper is None else self.ours.mean - self.paper.mean

    @property
    def differs(self) -> bool:
        """Whether it differs from the main row significantly."""
        return self.p is not None and self.p < LEVEL

    def distance(self, unit: str) -> Size | None:
        """How far ours is from the paper's: in points of percent, or of a count by its share."""
        if self.difference is None or self.paper is None or unit not in ("%", ""):
            return None
        points = abs(self.difference) * (1 if unit == "%" else 100 / self.paper.mean)
        return "close" if points <= CLOSE else "near" if points <= NEAR else "far"


@dataclass(frozen=True)
class Row:
    """A label and a comparison for each column."""

    label: Label
    cells: tuple[Comparison, ...]


@dataclass(frozen=True)
class Table:
    """What every format of a table is made from."""

    name: str
    """of its files"""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = ()
    heading: str = "method"
    category: str = "kind"
    planned: int | None = None
    """runs of a complete cell"""
    notes: tuple[str, ...] = ()

    def blocks(self) -> dict[str, list[int]]:
        """The columns of each block, by number."""
        found: dict[str, list[int]] = {}
        for number, column in enumerate(self.columns):
            found.setdefault(column.block, []).append(number)
        return found

    def only(self, numbers: Sequence[int]) -> Table:
        """The table with some of the columns."""
        rows = (replace(one, cells=tuple(one.cells[i] for i in numbers)) for one in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in numbers), rows=tuple(rows))

    def compared(self, number: int) -> bool:
        """Whether the paper has anything in a column."""
        return any(row.cells[number].paper is not None for row in self.rows)

    @property
    def kinds(self) -> bool:
        """Whether rows have a category."""
        return any(row.label.category for row in self.rows)

    @property
    def cells(self) -> list[Comparison]:
        return [cell for row in self.rows for cell in row.cells]

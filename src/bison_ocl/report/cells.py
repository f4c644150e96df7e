"""A table as a value: lines of cells, ours beside the paper's, best and runner-up marked."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from bison_ocl.evaluate.metrics import Spread, spread
from bison_ocl.report.measures import Measure
from bison_ocl.report.paper import Published
from bison_ocl.report.places import Place
from bison_ocl.report.significance import holm, sign_flip

LEVEL = 0.05
"""of significance"""
CLOSE, NEAR = 1.0, 3.0
"""differences from the paper, in points of percent, up to which a cell is close or near"""


@dataclass(frozen=True)
class Label:
    """What a line is."""

    text: str
    category: str = ""
    printed: str | None = None
    """its name in the paper's numbers; None where the paper has nothing like it"""
    main: bool = False
    """whether the others are tested against it"""
    reference: bool = False
    """whether others are measured against it (FINE-TUNE), so that it takes no rank"""


@dataclass(frozen=True)
class Column:
    """What a column is."""

    place: Place
    group: str
    label: str
    measure: Measure
    setting: Hashable = None
    """of the runs that belong into it, where columns differ in one"""


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
    lines: tuple[Line, ...]
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

    def compared(self, number: int) -> bool:
        """Whether the paper has anything in a column."""
        return any(line.cells[number].paper is not None for line in self.lines)

    @property
    def ranked(self) -> bool:
        """Whether anything is marked as best."""
        return any(cell.rank for line in self.lines for cell in line.cells)


# --- how far from the paper ---

Size = Literal["close", "near", "far"]


def size(cell: Cell, column: Column) -> Size | None:
    """How far ours is from the paper's; None for what another machine must change."""
    if cell.difference is None or cell.paper is None or column.measure.unit not in ("%", ""):
        return None
    points = abs(cell.difference)
    if column.measure.unit == "":
        points *= 100 / cell.paper.mean
    return "close" if points <= CLOSE else "near" if points <= NEAR else "far"


# --- best, runner-up and the test between methods ---


def marked(table: Table, whole_group: bool = False, tested: bool = True) -> Table:
    """The table with ranks, over columns or over whole groups of them, and with p-values."""
    groups = list(table.groups().values())
    fields = groups if whole_group else [[number] for group in groups for number in group]
    cells = [list(line.cells) for line in table.lines]
    for numbers in fields:
        places = [(row, number) for row in range(len(cells)) for number in numbers]
        rank(table, cells, [place for place in places if not table.lines[place[0]].label.reference])
    if tested:
        for number in range(len(table.columns)):
            test(table, cells, number)
    lines = zip(table.lines, cells, strict=True)
    return replace(table, lines=tuple(replace(line, cells=tuple(row)) for line, row in lines))


def rank(table: Table, cells: list[list[Cell]], places: Sequence[tuple[int, int]]) -> None:
    """Mark the best and the next best of some places; equal ones share a rank."""
    better = table.columns[places[0][1]].measure.better if places else None
    means = {place: ours.mean for place in places if (ours := cells[place[0]][place[1]].ours)}
    values = sorted(set(means.values()), reverse=better == "higher")
    if better is None or len(values) < 2:
        return
    for (row, number), mean in means.items():
        if mean in values[:2]:
            cells[row][number] = replace(cells[row][number], rank=1 + values.index(mean))


def test(table: Table, cells: list[list[Cell]], number: int) -> None:
    """Test the lines of a column against the main one, over the seeds they share."""
    main = next((row for row, line in enumerate(table.lines) if line.label.main), None)
    if main is None:
        main = next((row for row, line in enumerate(cells) if line[number].rank == 1), None)
    if main is None:
        return
    base, found = cells[main][number].values, {}
    for row, line in enumerate(cells):
        common = [key for key in line[number].values if key in base]
        if row != main and common:
            pairs = [line[number].values[key] for key in common], [base[key] for key in common]
            found[row] = sign_flip(*pairs)
    for row, p in zip(found, holm(list(found.values())), strict=True):
        cells[row][number] = replace(cells[row][number], p=p)


# --- what all formats print ---


def ours(cell: Cell, column: Column, plus_minus: str = " ± ") -> str:
    """`26.3 ± 1.0`, for AI `5.3 ± 0.8 / 9.7`; `–` for a missing cell."""
    if cell.ours is None:
        return "–"
    return numbers(cell.ours.mean, cell.ours.std, column, plus_minus) + (
        "" if cell.over_tasks is None else f" / {cell.over_tasks:.1f}"
    )


def paper(cell: Cell, column: Column, plus_minus: str = " ± ") -> str:
    if cell.paper is None:
        return ""
    return numbers(cell.paper.mean, cell.paper.std, column, plus_minus)


def numbers(mean: float, std: float | None, column: Column, plus_minus: str) -> str:
    decimals = column.measure.decimals
    return f"{mean:.{decimals}f}" + ("" if std is None else f"{plus_minus}{std:.{decimals}f}")


def difference(cell: Cell, column: Column) -> str:
    return "" if cell.difference is None else f"{cell.difference:+.{column.measure.decimals}f}"


def count(cell: Cell, table: Table) -> str:
    """`(10)`, or `(3 of 10)` where runs are missing; nothing for a missing cell."""
    if cell.ours is None:
        return ""
    short = table.planned is not None and cell.ours.n < table.planned
    return f"({cell.ours.n} of {table.planned})" if short else f"({cell.ours.n})"


def headed(column: Column) -> str:
    """The label with its unit, where that is not percent."""
    return column.label + (
        f" ({column.measure.unit})" if column.measure.unit not in ("%", "") else ""
    )


def legend(table: Table) -> list[str]:
    """What marks and numbers mean, as far as the table has them."""
    cells = [cell for line in table.lines for cell in line.cells]
    units = {column.measure.unit for column in table.columns}
    said = ["mean ± standard deviation (number of runs)" + ("; percent" if "%" in units else "")]
    if any(cell.over_tasks is not None for cell in cells):
        said.append("AI: ± over runs / over tasks; the paper's ± is over tasks")
    if any(cell.ours is None for cell in cells):
        said.append("–: missing")
    tested = [cell for cell in cells if cell.p is not None]
    if tested:
        main = next((line.label.text for line in table.lines if line.label.main), "the best")
        said.append(
            f"*: differs from {main}, p < {LEVEL} (exact paired sign-flip test over common seeds, "
            f"Holm over the column; {least_seeds(table)} seeds at least can show it)"
        )
    return [*said, *table.notes]


def least_seeds(table: Table) -> int:
    """Pairs that a test needs to fall below the level, so many being made in a column."""
    columns = range(len(table.columns))
    tests = max(sum(line.cells[n].p is not None for line in table.lines) for n in columns)
    return next(n for n in range(1, 64) if tests * 2 / 2**n < LEVEL)

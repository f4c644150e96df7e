"""What all formats print of a table: its numbers as text, and what its marks mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bison_ocl.report.study.measures import plus_minus
from bison_ocl.report.study.names import CATEGORIES
from bison_ocl.report.tables.cells import CLOSE, LEVEL, NEAR, Cell, Column, Line, Size, Table
from bison_ocl.report.tables.marks import least_seeds


@dataclass(frozen=True)
class Shown:
    """A cell of a printed table."""

    text: str
    value: float | None = None
    """by which it sorts"""
    count: str = ""
    """`(10)`, how many runs it is of"""
    rank: int = 0
    differs: bool = False
    size: Size | None = None
    """how large a difference from the paper is"""


def head(table: Table, numbers: Sequence[int]) -> list[str]:
    """The headings of some columns: ours and, where the paper has the column, its and Δ."""
    found = [table.heading, *[table.category] * table.kinds]
    for number in numbers:
        found += [headed(table.columns[number]), *("paper", "Δ") * table.compared(number)]
    return found


def headed(column: Column) -> str:
    """The label with its unit, where that is not percent."""
    unit = column.measure.unit
    return column.label + (f" ({unit})" if unit not in ("%", "") else "")


def shown(table: Table, line: Line, numbers: Sequence[int]) -> Iterator[Shown]:
    """The cells of a line under these headings, after its name and category.

    FINE-TUNE keeps no memory: its number is printed once per dataset.
    """
    seen: set[tuple[str, str]] = set()
    for number in numbers:
        cell, column = line.cells[number], table.columns[number]
        key = column.group, column.measure.name
        if line.label.reference and key in seen:
            yield from [Shown("")] * (1 + 2 * table.compared(number))
            continue
        seen.add(key)
        value = cell.ours.mean if cell.ours else None
        yield Shown(ours(cell, column), value, count(cell, table), cell.rank, cell.differs)
        if table.compared(number):
            yield Shown(paper(cell, column), cell.paper.mean if cell.paper else None)
            away = cell.distance(column.measure.unit)
            yield Shown(difference(cell, column), cell.difference, size=away)


def ours(cell: Cell, column: Column, sign: str = " ± ") -> str:
    """`26.3 ± 1.0`, for AI `5.3 ± 0.8 / 9.7`; `–` for a missing cell."""
    if cell.ours is None:
        return "–"
    over_tasks = "" if cell.over_tasks is None else f" / {cell.over_tasks:.1f}"
    return plus_minus(cell.ours.mean, cell.ours.std, column.measure.decimals, sign) + over_tasks


def paper(cell: Cell, column: Column, sign: str = " ± ") -> str:
    if cell.paper is None:
        return ""
    return plus_minus(cell.paper.mean, cell.paper.std, column.measure.decimals, sign)


def difference(cell: Cell, column: Column) -> str:
    return "" if cell.difference is None else f"{cell.difference:+z,.{column.measure.decimals}f}"


def count(cell: Cell, table: Table) -> str:
    """`(10)`, or `(3 of 10)` where runs are missing; nothing for a missing cell."""
    if cell.ours is None:
        return ""
    short = table.planned is not None and cell.ours.n < table.planned
    return f"({cell.ours.n} of {table.planned})" if short else f"({cell.ours.n})"


def usual_runs(table: Table) -> int:
    """Of how many runs most cells are."""
    counts = Counter(cell.ours.n for cell in table.cells if cell.ours)
    return counts.most_common(1)[0][0] if counts else 0


def told_runs(table: Table) -> str:
    """Of how many runs the cells are, in one word for all but those that differ."""
    usual = usual_runs(table)
    if not usual:
        return "over runs"
    short = f" of {table.planned}" if table.planned and usual < table.planned else ""
    odd = any(cell.ours and cell.ours.n != usual for cell in table.cells)
    runs = "run" if usual == 1 and not short else "runs"
    return f"over {usual}{short} {runs}" + ", or the number in brackets" * odd


def legend(
    table: Table, ranks: str, sizes: tuple[str, str, str], told_once: bool = False
) -> list[str]:
    """What marks and numbers mean, as far as the table has them.

    ranks: how the format shows best and runner-up; sizes: how it shows what is close, near and far;
    told_once: whether it tells the number of runs here, not in each cell.
    """
    cells = table.cells
    units = {column.measure.unit for column in table.columns}
    runs = told_runs(table) if told_once else "over runs (their number)"
    said = [f"mean ± standard deviation {runs}" + (", percent" if "%" in units else "")]
    said += dict.fromkeys(
        f"{c.measure.label}: {c.measure.what}" for c in table.columns if c.measure.what
    )
    if any(cell.over_tasks is not None for cell in cells):
        said.append("AI: the first ± is over runs, the second over tasks, as the paper's is")
    if any(table.compared(number) for number in range(len(table.columns))):
        said.append(f"paper: as printed; Δ: ours less the paper's{judged(table, sizes)}")
    if table.kinds and table.category == "kind":
        said.append("; ".join(f"{sign}: {meaning}" for sign, meaning in CATEGORIES.items()))
    if any(cell.ours is None for cell in cells):
        said.append("–: missing")
    if any(cell.rank for cell in cells):
        said.append(ranks)
    return [*said, *stars(table), *table.notes]


def stars(table: Table) -> list[str]:
    """What a star means, where there is one."""
    if not any(cell.differs for cell in table.cells):
        return []
    main = next((f"“{line.label.text}”" for line in table.lines if line.label.main), "the best")
    return [
        f"*: differs from {main}, p < {LEVEL} (paired sign-flip test over common seeds, "
        f"Holm over the column; it takes {least_seeds(table)} seeds to show a difference)"
    ]


def judged(table: Table, sizes: tuple[str, str, str]) -> str:
    """What the colours of differences mean, where some have one."""
    units = {
        column.measure.unit
        for number, column in enumerate(table.columns)
        if table.compared(number) and column.measure.unit in ("%", "")
    }
    if not units:
        return ""
    close, near, far = sizes
    unit = "point" if "%" in units else "percent"
    return f"; {close} up to {CLOSE:g} {unit}, {near} up to {NEAR:g}, {far} beyond"

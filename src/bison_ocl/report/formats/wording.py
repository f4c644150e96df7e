"""The text of a table, which all formats print: its numbers, and the meaning of its marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bison_ocl.report.study.measures import plus_minus, with_unit
from bison_ocl.report.study.names import CATEGORIES
from bison_ocl.report.tables.marks import least_seeds
from bison_ocl.report.tables.table import CLOSE, LEVEL, NEAR, Column, Comparison, Row, Size, Table


@dataclass(frozen=True)
class Shown:
    """A cell of a printed table."""

    text: str
    count: str = ""
    """`(10)`, the number of runs"""
    rank: int = 0
    differs: bool = False
    size: Size | None = None
    """of a difference from the paper"""


@dataclass(frozen=True)
class Block:
    """The columns of a table that are printed together."""

    title: str
    head: list[str]
    words: int
    """leading columns that hold words, not numbers"""
    rows: list[tuple[Row, list[Shown]]]


def blocks(table: Table) -> list[Block]:
    """A table as text, block by block."""
    return [block(table, title, numbers) for title, numbers in table.blocks().items()]


def block(table: Table, title: str, numbers: Sequence[int]) -> Block:
    """Some columns: ours and, where the paper has the column, its number and the difference."""
    head = [table.heading, *[table.category] * table.kinds]
    for number in numbers:
        column = table.columns[number]
        head += [with_unit(column.measure, column.label), *("paper", "Δ") * table.compared(number)]
    words = 1 + table.kinds
    rows = []
    for row in table.rows:
        texts = [Shown(text) for text in (row.label.text, row.label.category)[:words]]
        rows.append((row, [*texts, *shown(table, row, numbers)]))
    return Block(title, head, words, rows)


def shown(table: Table, row: Row, numbers: Sequence[int]) -> Iterator[Shown]:
    """The numbers of a row. FINE-TUNE keeps no memory: it is printed once per dataset."""
    seen: set[tuple[str, str]] = set()
    for number in numbers:
        cell, column = row.cells[number], table.columns[number]
        key = column.block, column.measure.name
        if row.label.reference and key in seen:
            yield from [Shown("")] * (1 + 2 * table.compared(number))
            continue
        seen.add(key)
        yield Shown(ours(cell, column), count(cell, table), cell.rank, cell.differs)
        if table.compared(number):
            yield Shown(paper(cell, column))
            away = cell.distance(column.measure.unit)
            yield Shown(difference(cell, column), size=away)


def ours(cell: Comparison, column: Column) -> str:
    """`26.3 ± 1.0`, for AI `5.3 ± 0.8 / 9.7`; `–` for a missing cell."""
    if cell.ours is None:
        return "–"
    over_tasks = "" if cell.over_tasks is None else f" / {cell.over_tasks:.1f}"
    return plus_minus(cell.ours.mean, cell.ours.std, column.measure.decimals) + over_tasks


def paper(cell: Comparison, column: Column) -> str:
    if cell.paper is None:
        return ""
    return plus_minus(cell.paper.mean, cell.paper.std, column.measure.decimals)


def difference(cell: Comparison, column: Column) -> str:
    return "" if cell.difference is None else f"{cell.difference:+z,.{column.measure.decimals}f}"


def count(cell: Comparison, table: Table) -> str:
    """`(10)`, or `(3 of 10)` where runs are missing; nothing for a missing cell."""
    if cell.ours is None:
        return ""
    short = table.planned is not None and cell.ours.n < table.planned
    return f"({cell.ours.n} of {table.planned})" if short else f"({cell.ours.n})"


def usual_runs(table: Table) -> int:
    """The number of runs of most cells."""
    counts = Counter(cell.ours.n for cell in table.cells if cell.ours)
    return counts.most_common(1)[0][0] if counts else 0


def runs_of(table: Table) -> str:
    """The number of runs of most cells in words."""
    usual = usual_runs(table)
    if not usual:
        return "over runs"
    short = f" of {table.planned}" if table.planned and usual < table.planned else ""
    odd = any(cell.ours and cell.ours.n != usual for cell in table.cells)
    runs = "run" if usual == 1 and not short else "runs"
    return f"over {usual}{short} {runs}" + ", or the number in brackets" * odd


def legend(
    table: Table, ranks: str, sizes: tuple[str, str, str], count_once: bool = False
) -> list[str]:
    """The meaning of the marks and numbers that a table has.

    ranks: how the format shows best and runner-up; sizes: how it shows a close, near and far
    number; count_once: whether the number of runs is given here, not in each cell.
    """
    cells = table.cells
    units = {column.measure.unit for column in table.columns}
    runs = runs_of(table) if count_once else "over runs (their number)"
    notes = [f"mean ± standard deviation {runs}" + (", percent" if "%" in units else "")]
    notes += dict.fromkeys(
        f"{c.measure.label}: {c.measure.what}" for c in table.columns if c.measure.what
    )
    if any(cell.over_tasks is not None for cell in cells):
        notes.append("AI: after ±, the deviation over runs; after /, over tasks, as in the paper")
    if any(table.compared(number) for number in range(len(table.columns))):
        notes.append(f"paper: as printed; Δ: ours minus the paper's{judged(table, sizes)}")
    if table.kinds and table.category == "kind":
        notes.append("; ".join(f"{sign}: {meaning}" for sign, meaning in CATEGORIES.items()))
    notes += missing(table)
    if any(cell.rank for cell in cells):
        notes.append(ranks)
    return [*notes, *stars(table), *table.notes]


def missing(table: Table) -> list[str]:
    """The meaning of a dash: no run, or runs without this number, as AI without FINE-TUNE."""
    cells = [
        (row.label, column.place, cell.ours)
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
    ]
    ran = {(label, place) for label, place, ours in cells if ours}
    gaps = {(label, place) for label, place, ours in cells if ours is None}
    kinds = ["not run"] * bool(gaps - ran) + ["not measured"] * bool(gaps & ran)
    return [f"–: {' or '.join(kinds)}"] if kinds else []


def stars(table: Table) -> list[str]:
    """The meaning of a star, where there is one."""
    if not any(cell.differs for cell in table.cells):
        return []
    main = next((f"“{row.label.text}”" for row in table.rows if row.label.main), "the best")
    return [
        f"*: differs from {main}, p < {LEVEL} (paired sign-flip test over common seeds, corrected "
        f"by Holm within the column; {least_seeds(table)} seeds are needed to show a difference)"
    ]


def judged(table: Table, sizes: tuple[str, str, str]) -> str:
    """The meaning of the colours of differences, where some have one."""
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

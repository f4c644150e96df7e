"""Best and runner-up of each column, and the paired test between rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import compress

from bison_ocl.report.study.significance import holm, sign_flip
from bison_ocl.report.tables.table import LEVEL, Comparison, Table

DIGITS = 9
"""up to which means are compared: beyond them, sums in another order differ"""


def marked(table: Table, tested: bool = True) -> Table:
    """The table with the ranks of each column, and with p-values."""
    cells = [list(row.cells) for row in table.rows]
    rows = [number for number, row in enumerate(table.rows) if not row.label.reference]
    for number in range(len(table.columns)):
        rank(table, cells, rows, number)
        if tested:
            test(table, cells, rows, number)
    pairs = zip(table.rows, cells, strict=True)
    return replace(table, rows=tuple(replace(row, cells=tuple(marks)) for row, marks in pairs))


def rank(table: Table, cells: list[list[Comparison]], rows: Sequence[int], number: int) -> None:
    """Mark the best and the next best of a column; equal ones share a rank."""
    better = table.columns[number].measure.better
    found = {row: cells[row][number].ours for row in rows}
    means = {row: round(ours.mean, DIGITS) for row, ours in found.items() if ours}
    values = sorted(set(means.values()), reverse=better == "higher")
    if better is None or len(values) < 2:
        return
    for row, mean in means.items():
        if mean in values[:2]:
            cells[row][number] = replace(cells[row][number], rank=1 + values.index(mean))


def test(table: Table, cells: list[list[Comparison]], rows: Sequence[int], number: int) -> None:
    """Test the rows of a column against the main row, or against the best if there is none."""
    main = next((row for row in rows if table.rows[row].label.main), None)
    if main is None:
        main = next((row for row in rows if cells[row][number].rank == 1), None)
    if main is None:
        return
    others = [row for row in rows if row != main]
    found = against(cells[main][number].values, [cells[row][number].values for row in others])
    for row, p in zip(others, found, strict=True):
        cells[row][number] = replace(cells[row][number], p=p)


def against(
    main: Mapping[Hashable, float], others: Sequence[Mapping[Hashable, float]]
) -> list[float | None]:
    """p of each row, over the runs it shares with the main one, corrected for all tests.

    A test of so few runs that it cannot be significant keeps its p and corrects no other.
    """
    shared = [[key for key in other if key in main] for other in others]
    alone = [
        sign_flip([other[key] for key in keys], [main[key] for key in keys]) if keys else None
        for other, keys in zip(others, shared, strict=True)
    ]
    able = [testable(len(keys)) for keys in shared]
    corrected = iter(holm([p for p in compress(alone, able) if p is not None]))
    return [next(corrected) if one else p for one, p in zip(able, alone, strict=True)]


def testable(pairs: int) -> bool:
    """Whether a test of so many pairs could be significant."""
    return pairs >= least_pairs(tests=1)


def least_pairs(tests: int) -> int:
    """Pairs that a test needs, corrected for so many tests: its least p is 2 / 2ⁿ."""
    return next(n for n in range(1, 64) if tests * 2 / 2**n < LEVEL)


def least_seeds(table: Table) -> int:
    """Pairs that a test needs to be significant in the column with most tests."""
    columns = range(len(table.columns))
    return least_pairs(max(sum(row.cells[n].p is not None for row in table.rows) for n in columns))

"""How near to the paper's numbers ours are, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bison_ocl.experiments.plan.paper import ITEMS, MINI
from bison_ocl.report.claims.claim import Claim, cell_name, in_text
from bison_ocl.report.formats.markdown import escaped, grid
from bison_ocl.report.study.paper import MAIN_TABLE
from bison_ocl.report.tables.table import Column, Comparison, Row, Table

COMPARED = ("AA", "AF_table", "AI")
SEEDS = ITEMS[MAIN_TABLE].seeds
"""of the paper, in each cell"""
POINTS = (1, 2, 3)


@dataclass(frozen=True)
class Distance:
    """The distance of a cell from the paper's."""

    row: Row
    column: Column
    difference: float
    error: float | None
    """standard error of the difference; None if no deviation is known"""

    @property
    def explained(self) -> bool:
        return self.error is not None and abs(self.difference) <= 2 * self.error

    @property
    def far(self) -> bool:
        return abs(self.difference) > max(POINTS) and not self.explained

    def __str__(self) -> str:
        errors = f"{abs(self.difference) / self.error:.1f}" if self.error else "unknown"
        return f"{cell_name(self.column)} {self.difference:+.1f} ({errors})"


def nearness(tables: Mapping[str, Table]) -> Claim | None:
    """How near the tables of AA, AF_table and AI are; None if no cell was run."""
    near = {name: list(distances(table)) for name, table in tables.items()}
    accuracies = near["AA"]
    if not accuracies:
        return None
    total = len(list(printed(tables["AA"])))
    agree = sum(not one.far for one in accuracies)
    answer = (
        f"{len(accuracies)} of {total} cells of the main table were run. In AA, {agree} of them "
        f"({100 * agree / len(accuracies):.0f} %) lie within three points of the paper or two "
        "standard errors of the difference."
    )
    details = (counts(near), *outliers(near))
    return Claim("How near to the paper are the numbers?", answer, details)


def distances(table: Table) -> Iterator[Distance]:
    """Every cell that was run and that the paper prints, each once."""
    for row, column, cell in printed(table):
        if cell.difference is not None:
            yield Distance(row, column, cell.difference, standard_error(cell, column))


def printed(table: Table) -> Iterator[tuple[Row, Column, Comparison]]:
    """The cells that the paper prints; a reference has no memory, so it counts once per dataset."""
    for row in table.rows:
        seen: set[str] = set()
        for column, cell in zip(table.columns, row.cells, strict=True):
            once = not row.label.reference or column.block not in seen
            if cell.paper is not None and once and not row.label.superseded:
                seen.add(column.block)
                yield row, column, cell


def standard_error(cell: Comparison, column: Column) -> float | None:
    """Standard error of ours minus the paper's.

    Where one deviation is unknown, the other stands for both: one run has none, and the paper's of
    AI is over tasks.
    """
    assert cell.ours is not None
    assert cell.paper is not None
    ours, theirs = cell.ours.std, None if column.measure.over_tasks else cell.paper.std
    ours, theirs = (theirs if ours is None else ours), (ours if theirs is None else theirs)
    if ours is None or theirs is None:
        return None
    return math.sqrt(ours**2 / cell.ours.n + theirs**2 / SEEDS)


def counts(near: Mapping[str, Sequence[Distance]]) -> str:
    """The number of cells by distance, metric and dataset."""
    rows = []
    for metric, cells in near.items():
        for name, mini in (("CIFAR", False), ("Mini-ImageNet", True)):
            some = [one for one in cells if (one.column.place.data == MINI) == mini]
            within = [sum(abs(one.difference) <= points for one in some) for points in POINTS]
            explained = sum(one.explained for one in some)
            near_enough = f"{sum(not one.far for one in some)} of {len(some)}"
            rows.append(in_text(metric, name, len(some), *within, explained, near_enough))
    head = ["metric", "data", "cells run", "≤ 1 point", "≤ 2", "≤ 3", "≤ 2 s.e."]
    text = (
        "Cells whose mean lies within 1, 2 or 3 points of the paper's, or within two standard "
        f"errors (s.e.) of the difference. The paper has {SEEDS} runs per cell. Of OCM's two "
        "readings (READINGS.md), the one by position is compared."
    )
    return f"{text}\n\n{grid([*head, '≤ 3 points or 2 s.e.'], rows, numbers=6)}"


def outliers(near: Mapping[str, Sequence[Distance]]) -> list[str]:
    """Cells beyond three points and two standard errors, by method and metric."""
    far = {metric: [one for one in cells if one.far] for metric, cells in near.items()}
    methods = dict.fromkeys(one.row.label.text for cells in far.values() for one in cells)
    if not methods:
        return []
    rows = [[escaped(name), *(listed(cells, name) for cells in far.values())] for name in methods]
    head = (
        "Cells beyond three points and two standard errors: ours minus the paper's, in brackets "
        "in standard errors. READINGS.md has what we tried."
    )
    return [f"{head}\n\n{grid(('method', *map(escaped, far)), rows)}"]


def listed(cells: Sequence[Distance], method: str) -> str:
    return ", ".join(str(one) for one in cells if one.row.label.text == method)

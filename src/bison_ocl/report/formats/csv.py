"""A table as CSV for further work: one line per cell, numbers in full."""

from __future__ import annotations

import csv
from io import StringIO

from bison_ocl.report.study.labels import Label
from bison_ocl.report.tables.table import Column, Comparison, Table

HEAD = (
    *("table", "line", "category", "group", "column", "data", "stream", "memory", "measure"),
    *("unit", "mean", "std", "std_over_tasks", "n", "planned", "paper", "paper_std"),
    *("difference", "rank", "p"),
)


def comma_separated(table: Table) -> str:
    """All cells, missing ones with n = 0; percent where the unit says so."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEAD)
    for one in table.rows:
        for cell, column in zip(one.cells, table.columns, strict=True):
            writer.writerow(row(table, one.label, cell, column))
    return file.getvalue()


def row(table: Table, label: Label, cell: Comparison, column: Column) -> list[object]:
    data, _, stream, memory = column.place
    ours, paper = cell.ours, cell.paper
    return [
        *map(harmless, (table.name, label.text, label.category, column.block, column.label)),
        *(harmless(data), harmless(stream), memory, column.measure.name, column.measure.unit),
        number(ours.mean if ours else None),
        number(ours.std if ours else None),
        number(cell.over_tasks),
        ours.n if ours else 0,
        "" if table.planned is None else table.planned,
        number(paper.mean if paper else None),
        number(paper.std if paper else None),
        number(cell.difference),
        cell.rank or "",
        number(cell.p),
    ]


def harmless(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"

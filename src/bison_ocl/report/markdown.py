"""Rows of results as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.report.tables import Row, ai_cell, percent

HEADER = (
    "| method | memory | AA ↑ | AF ↓ | AF_table ↓ | AI ↓ / tasks | n |\n"
    "|---|---|---|---|---|---|---|"
)


def markdown(lines: Sequence[Row]) -> str:
    """One line a row, in percent, mean ± standard deviation over seeds; for AI also over tasks."""
    return "\n".join([HEADER, *(line(row) for row in lines)]) + "\n"


def line(row: Row) -> str:
    numbers = [percent(x.mean, x.std) for x in (row.AA, row.AF, row.AF_table)]
    cells = [row.method, str(row.memory), *numbers, ai_cell(row), str(row.AA.n)]
    return f"| {' | '.join(cells)} |"

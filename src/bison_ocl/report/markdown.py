"""A table as Markdown: a block for each group of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bison_ocl.report import cells
from bison_ocl.report.cells import Line, Table

MARKS = {"close": " 🟢", "near": " 🟡", "far": " 🔴", None: ""}
AROUND = (("", ""), ("**", "**"), ("<u>", "</u>"))
"""none, best, runner-up"""


def markdown(table: Table) -> str:
    """The table, and below it what its marks mean."""
    blocks = [block(table, *group) for group in table.groups().items()]
    sizes = f"Δ: ours less the paper's; 🟢 up to {cells.CLOSE:g}, 🟡 up to {cells.NEAR:g}, 🔴 more"
    compared = any(table.compared(number) for number in range(len(table.columns)))
    marks = ["**best**, <u>runner-up</u>"] * table.ranked
    notes = [*map(escaped, cells.legend(table)), *marks, *[sizes] * compared]
    return "\n".join([*blocks, *(f"- {note}" for note in notes)]) + "\n"


def block(table: Table, group: str, numbers: Sequence[int]) -> str:
    """The columns of one group."""
    kinds = [table.category] if any(line.label.category for line in table.lines) else []
    head = [table.heading, *kinds]
    rule = ["---"] * len(head)
    for number in numbers:
        names = ("paper", "Δ") if table.compared(number) else ()
        head += [cells.headed(table.columns[number]), *names]
        rule += ["---:"] * (1 + len(names))
    rows = [
        [
            escaped(line.label.text),
            *[escaped(line.label.category)] * len(kinds),
            *columns(table, line, numbers),
        ]
        for line in table.lines
    ]
    lines = [row(escaped(cell) for cell in head), row(rule), *(row(cells) for cells in rows)]
    return "\n".join([f"**{escaped(group)}**", "", *lines, ""])


def columns(table: Table, line: Line, numbers: Sequence[int]) -> Iterator[str]:
    """Ours, and where the paper has the column, its number and the difference."""
    for number in numbers:
        cell, column = line.cells[number], table.columns[number]
        before, after = AROUND[cell.rank]
        star = "\\*" * cell.differs
        yield f"{before}{cells.ours(cell, column)}{after}{star} {cells.count(cell, table)}".strip()
        if table.compared(number):
            yield cells.paper(cell, column)
            yield cells.difference(cell, column) + MARKS[cells.size(cell, column)]


def row(texts: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(texts)} |"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\|*_<[":
        text = text.replace(sign, f"\\{sign}")
    return text

"""A table as Markdown: a block for each group of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bison_ocl.report.formats import wording
from bison_ocl.report.tables.cells import Line, Table

MARKS = {"close": " 🟢", "near": " 🟡", "far": " 🔴", None: ""}
AROUND = (("", ""), ("**", "**"), ("<u>", "</u>"))
"""none, best, runner-up"""


def markdown(table: Table) -> str:
    """The table, and below it what its marks mean."""
    blocks = [block(table, *group) for group in table.groups().items()]
    notes = wording.legend(table, "bold: best, underlined: runner-up", ("🟢", "🟡", "🔴"))
    return "\n".join([*blocks, *(f"- {escaped(note)}" for note in notes)]) + "\n"


def block(table: Table, group: str, numbers: Sequence[int]) -> str:
    """The columns of one group."""
    kinds = [table.category] * table.kinds
    head = [table.heading, *kinds]
    rule = ["---"] * len(head)
    for number in numbers:
        names = ("paper", "Δ") if table.compared(number) else ()
        head += [wording.headed(table.columns[number]), *names]
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
        ours = f"{before}{wording.ours(cell, column)}{after}" + "\\*" * cell.differs
        yield f"{ours} {wording.count(cell, table)}".strip()
        if table.compared(number):
            yield wording.paper(cell, column)
            mark = MARKS[cell.distance(column.measure.unit)]
            yield wording.difference(cell, column) + mark


def row(texts: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(texts)} |"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\`|*_<[~&":
        text = text.replace(sign, f"\\{sign}")
    return text

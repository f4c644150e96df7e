"""A table as Markdown: a block for each group of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bison_ocl.report.formats.wording import Shown, head, legend, shown
from bison_ocl.report.tables.cells import Table

MARKS = {"close": " 🟢", "near": " 🟡", "far": " 🔴", None: ""}
AROUND = ("{}", "**{}**", "<u>{}</u>")
"""none, best, runner-up"""


def markdown(table: Table) -> str:
    """The table, and below it what its marks mean."""
    blocks = [block(table, *group) for group in table.groups().items()]
    notes = legend(table, "bold: best, underlined: runner-up", ("🟢", "🟡", "🔴"))
    return "\n".join([*blocks, *(f"- {escaped(note)}" for note in notes)]) + "\n"


def block(table: Table, group: str, numbers: Sequence[int]) -> str:
    """The columns of one group."""
    names, words = head(table, numbers), 1 + table.kinds
    rule = ["---"] * words + ["---:"] * (len(names) - words)
    rows = [row(map(escaped, names)), row(rule)]
    for line in table.lines:
        words_of_line = [line.label.text, line.label.category][:words]
        rows.append(row([*map(escaped, words_of_line), *map(cell, shown(table, line, numbers))]))
    return "\n".join([f"**{escaped(group)}**", "", *rows, ""])


def cell(one: Shown) -> str:
    text = AROUND[one.rank].format(one.text) + "\\*" * one.differs
    return f"{text} {one.count}".strip() + MARKS[one.size]


def row(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\`|*_<[~&":
        text = text.replace(sign, f"\\{sign}")
    return text

"""A table as Markdown, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bison_ocl.report.formats.wording import Block, Shown, blocks, legend
from bison_ocl.report.tables.table import Table

MARKS = {"close": " 🟢", "near": " 🟡", "far": " 🔴", None: ""}
AROUND = ("{}", "**{}**", "<u>{}</u>")
"""none, best, runner-up"""


def markdown(table: Table) -> str:
    """The table, and below it the meaning of its marks."""
    notes = legend(table, "bold: best, underlined: runner-up", ("🟢", "🟡", "🔴"))
    return "\n".join([*map(shown, blocks(table)), listed(notes)]) + "\n"


def shown(block: Block) -> str:
    rows = [map(cell, cells) for _, cells in block.rows]
    made = grid(map(escaped, block.head), rows, numbers=len(block.head) - block.words)
    return "\n".join([f"**{escaped(block.title)}**", "", made, ""])


def grid(head: Iterable[str], rows: Iterable[Iterable[str]], numbers: int = 0) -> str:
    """Rows of Markdown under their heads; the last `numbers` columns are aligned to the right."""
    titles = list(head)
    rule = ["---"] * (len(titles) - numbers) + ["---:"] * numbers
    return "\n".join(f"| {' | '.join(texts)} |" for texts in (titles, rule, *rows))


def cell(one: Shown) -> str:
    text = AROUND[one.rank].format(escaped(one.text)) + "\\*" * one.differs
    return f"{text} {one.count}".strip() + MARKS[one.size]


def listed(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\`|*_<[~&":
        text = text.replace(sign, f"\\{sign}")
    return text

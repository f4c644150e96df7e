"""A table for the terminal, block by block."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from bison_ocl.report.formats.wording import Block, Shown, blocks, legend
from bison_ocl.report.tables.table import Table

COLOURS = {"close": "green", "near": "yellow", "far": "red", None: ""}
STYLES = ("", "bold", "underline")
RANKS = ("", "¹", "²")
"""none, best, runner-up"""
WIDE = 400
"""columns, so that nothing is cut"""


def show(tables: Iterable[Table]) -> None:
    """Print tables to standard output, never cut: a narrow terminal folds the lines."""
    console = Console(width=WIDE, highlight=False, emoji=False)
    for table in tables:
        console.print(drawn(table))


def drawn(table: Table) -> Group:
    """The table as rich draws it: in colour where the terminal has it."""
    notes = legend(table, "¹ best, ² runner-up", ("green", "yellow", "red"))
    parts: list[RenderableType] = [
        Text(table.title, style="bold"),
        *map(grid, blocks(table)),
        Text("\n".join(notes), style="dim"),
    ]
    return Group(*(one for part in parts for one in (part, "")))


def grid(block: Block) -> Grid:
    title = Text(block.title)
    made = Grid(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    for number, name in enumerate(block.head):
        made.add_column(name, justify="left" if number < block.words else "right", no_wrap=True)
    for _, cells in block.rows:
        made.add_row(*map(cell, cells))
    return made


def cell(one: Shown) -> Text:
    rest = f" {one.count}{'*' * one.differs}{RANKS[one.rank]}" if one.count else ""
    return Text.assemble((one.text, STYLES[one.rank] or COLOURS[one.size]), rest)

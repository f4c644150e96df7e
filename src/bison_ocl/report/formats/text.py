"""A table for the terminal: a block for each group of columns."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from bison_ocl.report.formats.wording import Shown, head, legend, shown
from bison_ocl.report.tables.cells import Table

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
        *(block(table, *group) for group in table.groups().items()),
        Text("\n".join(notes), style="dim"),
    ]
    return Group(*(one for part in parts for one in (part, "")))


def block(table: Table, group: str, numbers: list[int]) -> Grid:
    """The columns of one group."""
    grid = Grid(
        box=None, pad_edge=False, header_style="bold", title=Text(group), title_justify="left"
    )
    words = 1 + table.kinds
    for number, name in enumerate(head(table, numbers)):
        grid.add_column(name, justify="left" if number < words else "right", no_wrap=True)
    for line in table.lines:
        names = [Text(line.label.text), Text(line.label.category)][:words]
        grid.add_row(*names, *map(cell, shown(table, line, numbers)))
    return grid


def cell(one: Shown) -> Text:
    rest = f" {one.count}{'*' * one.differs}{RANKS[one.rank]}" if one.count else ""
    return Text.assemble((one.text, STYLES[one.rank] or COLOURS[one.size]), rest)

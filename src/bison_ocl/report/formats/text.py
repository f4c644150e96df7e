"""A table for the terminal and for plain files: a block for each group of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from bison_ocl.report.formats import wording
from bison_ocl.report.tables.cells import Cell, Column, Line, Table

COLOURS = {"close": "green", "near": "yellow", "far": "red", None: ""}
STYLES = ("", "bold", "underline")
RANKS = ("", "¹", "²")
"""none, best, runner-up"""
WIDE = 400
"""columns of a file, which nobody folds"""


def text(table: Table) -> str:
    """The table as plain text."""
    file = StringIO()
    Console(file=file, width=WIDE, no_color=True, highlight=False, emoji=False).print(drawn(table))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def show(tables: Iterable[Table]) -> None:
    """Print tables to standard output, never cut: a narrow terminal folds the lines."""
    console = Console(width=WIDE, highlight=False, emoji=False)
    for table in tables:
        console.print(drawn(table))


def drawn(table: Table) -> Group:
    """The table as rich draws it: in colour where the terminal has it."""
    notes = wording.legend(table, "¹ best, ² runner-up", ("green", "yellow", "red"))
    blocks = [block(table, *group) for group in table.groups().items()]
    parts: list[RenderableType] = [
        Text(table.title, style="bold"),
        *blocks,
        Text("\n".join(notes), style="dim"),
    ]
    return Group(*(one for part in parts for one in (part, "")))


def block(table: Table, group: str, numbers: list[int]) -> Grid:
    """The columns of one group."""
    grid = Grid(
        box=None, pad_edge=False, header_style="bold", title=Text(group), title_justify="left"
    )
    grid.add_column(table.heading, no_wrap=True)
    if table.kinds:
        grid.add_column(table.category, no_wrap=True)
    for number in numbers:
        grid.add_column(wording.headed(table.columns[number]), justify="right", no_wrap=True)
        for name in ("paper", "Δ") if table.compared(number) else ():
            grid.add_column(name, justify="right", no_wrap=True)
    for line in table.lines:
        kind = [Text(line.label.category)] if table.kinds else []
        grid.add_row(Text(line.label.text), *kind, *columns(table, line, numbers))
    return grid


def columns(table: Table, line: Line, numbers: list[int]) -> Iterator[Text]:
    """Ours, and where the paper has the column, its number and the difference."""
    for number in numbers:
        cell, column = line.cells[number], table.columns[number]
        yield own(cell, column, table)
        if table.compared(number):
            yield Text(wording.paper(cell, column), style="dim")
            colour = COLOURS[cell.distance(column.measure.unit)]
            yield Text(wording.difference(cell, column), style=colour)


def own(cell: Cell, column: Column, table: Table) -> Text:
    marks = "*" * cell.differs + RANKS[cell.rank]
    rest = f" {wording.count(cell, table)}{marks}" if cell.ours else ""
    return Text.assemble((wording.ours(cell, column), STYLES[cell.rank]), rest)

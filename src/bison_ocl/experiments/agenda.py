"""What there is to reproduce and what a plan holds, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bison_ocl.experiments.costs import cost
from bison_ocl.experiments.lasting import lasting
from bison_ocl.experiments.paper import ITEMS
from bison_ocl.experiments.plan import Plan, plan
from bison_ocl.stream.streams import DEFAULT


def show(table: Table) -> None:
    """Print a table to standard output, wide where nobody looks."""
    console = Console(highlight=False, markup=False, emoji=False)  # paths may hold [ and :
    if not console.is_terminal:
        console.width = max(console.width, 160)
    console.print(table)


def seconds_of(found: Plan, step: float) -> float:
    """What one process needs for a plan, with `step` seconds for a step of ER."""
    runs = (cost(c.method, c.data, c.memory, dict(c.settings)) for c in found.cells)
    warm = 1 if found.item.alone else 0  # a run for nothing before each cell
    return sum(runs) * (len(found.seeds) + warm) * step


def listing(step: float, processes: int) -> Table:
    """Every item: what it is, where the paper shows it, its runs and their cost.

    `new`: runs that no item above has, for what several items share is run once.
    """
    from bison_ocl.experiments.units import identities

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("item", "what", "in the paper"):
        table.add_column(name)
    for name in ("runs", "new", "estimate"):
        table.add_column(name, justify="right", no_wrap=True)
    known: set[str] = set()
    for name, item in ITEMS.items():
        found = plan(name)
        runs = identities(found)
        new = runs if item.alone else runs - known
        known |= new
        seconds = seconds_of(found, step) / (1 if item.alone else processes)
        row = (item.title, item.shown, found.runs, len(new), lasting(seconds))
        table.add_row(name, *map(str, row))
    return table


def contents(found: Plan, left: Sequence[int]) -> Table:
    """The cells of a plan, with the runs that are left of each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("method", "settings", "data", "stream", "also"):
        table.add_column(name)
    for name in ("memory", "to run"):
        table.add_column(name, justify="right")
    for cell, runs in zip(found.cells, left, strict=True):
        settings = " ".join(f"{name}={value}" for name, value in cell.settings)
        stream = "" if cell.stream == DEFAULT else cell.stream
        words = (cell.method, settings, cell.data, stream, " ".join(cell.also))
        table.add_row(*words, str(cell.memory), str(runs))
    return table


def left_of(found: Plan, out: Path, say: Callable[[str], None], **options: Any) -> list[int]:
    """How many runs of each cell nobody has yet; nothing heavy is imported if there are none."""
    if not any(out.glob("*/results.jsonl")):
        return [len(found.seeds)] * len(found.cells)
    from bison_ocl.experiments.reproduce import standing

    return [len(left) for _, left in standing(found, out, say, **options).left]

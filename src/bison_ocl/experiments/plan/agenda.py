"""The items of the paper and the contents of a plan, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

from bison_ocl.experiments.plan.costs import cost, lasting
from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.plan.plan import ALL, Plan, plan
from bison_ocl.experiments.records.results import RESULTS
from bison_ocl.stream.streams import DEFAULT


def listing(step: float, step_alone: float, processes: int) -> Table:
    """Every item with title, place in the paper, runs and estimated time; the total is last.

    step, step_alone: seconds per step of ER, among stacked seeds and alone. `new`: runs that no
    item above has, because shared runs are trained once.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("item", "what", "in the paper"):
        table.add_column(name)
    for name in ("runs", "new", "estimate"):
        table.add_column(name, justify="right", no_wrap=True)
    known: set[str] = set()
    count, total = 0, 0.0
    for name, item in ITEMS.items():
        each = step_alone if item.alone else step
        seconds = {run: each * cost for run, cost in cost_by_run(plan(name)).items()}
        new = set(seconds) if item.alone else seconds.keys() - known
        known |= set() if item.alone else new
        at_once = 1 if item.alone else processes
        if item.shown:  # `all` is the paper's
            count, total = count + len(new), total + sum(seconds[run] for run in new) / at_once
        whole = lasting(sum(seconds.values()) / at_once)
        table.add_row(name, item.title, item.shown, str(len(seconds)), str(len(new)), whole)
    table.add_row(ALL, "The whole paper", "", str(count), str(count), lasting(total))
    return table


def cost_by_run(found: Plan) -> dict[str, float]:
    """The cost of each run of a plan, by its name, in steps of ER."""
    from bison_ocl.experiments.plan.units import jobs, specs

    warm = 1 + 1 / len(found.seeds) if found.item.alone else 1  # a discarded run before each cell
    return {
        spec.name: warm * cost(job.method, job.data, job.memory, job.settings)
        for job in jobs(found, Path())
        for spec in specs(job)
    }


def contents(found: Plan, left: Sequence[int]) -> Table:
    """The cells of a plan, with the number of missing runs."""
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


def left_of(found: Plan, out: Path, say: Callable[[str], None], precision: str) -> list[int]:
    """The number of missing runs per cell; imports nothing heavy if no results exist."""
    if not any(out.glob(f"*/{RESULTS}")):
        return [len(found.seeds)] * len(found.cells)
    from bison_ocl.experiments.carry.reproduce import standing

    return [len(left) for _, left in standing(found, out, say, precision=precision).left]

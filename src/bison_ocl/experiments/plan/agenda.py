"""The items of the paper and the contents of a plan, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from bison_ocl.experiments.plan.costs import cost, lasting
from bison_ocl.experiments.plan.machine import Rate
from bison_ocl.experiments.plan.paper import ITEMS, Cell, Item
from bison_ocl.experiments.plan.plan import ALL, Plan, plan
from bison_ocl.experiments.records.results import RESULTS
from bison_ocl.methods.declared import facts, settings_on
from bison_ocl.stream.streams import DEFAULT

if TYPE_CHECKING:
    from bison_ocl.nets.precision import Precision

UNMEASURED = "–"


def listing(rate: Rate | None, processes: int) -> Table:
    """Every item with title, place in the paper, runs and estimated time; the total is last.

    rate: None for no estimates. `new`: runs that no item above has, because shared runs are trained
    once.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("item", "what", "in the paper"):
        table.add_column(name)
    for name in ("runs", "new", "estimate"):
        table.add_column(name, justify="right", no_wrap=True)
    known: set[str] = set()
    count, total = 0, 0.0
    for name, item in ITEMS.items():
        costs = cost_by_run(plan(name))
        new = set(costs) if item.alone else costs.keys() - known
        known |= set() if item.alone else new
        pace = seconds_per_step(item, rate, processes) if rate else 0.0
        if item.shown:  # `all` is the paper's
            count, total = count + len(new), total + pace * sum(costs[run] for run in new)
        words = lasting(pace * sum(costs.values())) if rate else UNMEASURED
        table.add_row(name, item.title, item.shown, str(len(costs)), str(len(new)), words)
    words = lasting(total) if rate else UNMEASURED
    table.add_row(ALL, "The whole paper", "", str(count), str(count), words)
    return table


def seconds_per_step(item: Item, rate: Rate, processes: int) -> float:
    """The time of a step of ER among the runs of an item."""
    return rate.alone if item.alone else rate.step / processes


def cost_by_run(found: Plan) -> dict[str, float]:
    """The cost of each run of a plan, by a text that identifies it, in steps of ER."""
    seeds = len(found.seeds)
    costs = {identity(cell): cost_of(cell, found.item, seeds) / seeds for cell in found.cells}
    return {f"{run} {seed}": each for run, each in costs.items() for seed in found.seeds}


def cost_of(cell: Cell, item: Item, runs: int) -> float:
    """The cost of some runs of a cell; what is measured alone discards a run beforehand."""
    trained = runs + (item.alone and runs > 0)
    return trained * cost(cell.method, cell.data, cell.memory, dict(cell.settings))


def identity(cell: Cell) -> str:
    """A text that cells of the same runs share, however their settings are written."""
    method = facts(cell.method)
    settings = settings_on(cell.method, cell.data, dict(cell.settings))
    memory = cell.memory if method and method.replays else 0
    return repr((cell.method, cell.data, memory, sorted(settings.items()), cell.stream))


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


def left_of(
    found: Plan, out: Path, say: Callable[[str], None], device: str, precision: Precision
) -> list[int]:
    """The number of missing runs per cell; imports nothing heavy if no results exist.

    A run's identity includes the precision that the device computes in, so both are needed.
    """
    if not any(out.glob(f"*/{RESULTS}")):
        return [len(found.seeds)] * len(found.cells)
    from bison_ocl.experiments.carry.reproduce import run_inventory

    missing = run_inventory(found, out, say, device=device, precision=precision).missing
    return [len(specs) for _, specs in missing]


def time_of(found: Plan, left: Sequence[int], rate: Rate, processes: int) -> str:
    """The estimated time of the missing runs of each cell."""
    pairs = zip(found.cells, left, strict=True)
    costs = (cost_of(cell, found.item, runs) for cell, runs in pairs)
    return lasting(seconds_per_step(found.item, rate, processes) * sum(costs))

"""`run` with lists of methods, memory sizes or values: a sweep, carried out like `reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bison_ocl.cli.carrying import carry_out
from bison_ocl.cli.process.fail import fail
from bison_ocl.cli.report import show_runs

if TYPE_CHECKING:
    from bison_ocl.experiments.carry.work import Carry
    from bison_ocl.experiments.plan.paper import Cell
    from bison_ocl.experiments.plan.units import Options
    from bison_ocl.experiments.tracking import Tracker


def sweep(
    cells: Sequence[Cell],
    seeds: Sequence[int],
    out: Path,
    engine: Carry,
    tracking: Tracker | None,
    how: Options,
) -> None:
    """Train what is missing, then print a table and the best settings. how: of all runs"""
    from bison_ocl.experiments.carry.reproduce import run_inventory
    from bison_ocl.experiments.plan.grid import swept
    from bison_ocl.experiments.terminal.show import say
    from bison_ocl.report.study.best import best_settings

    out = out if out.name else out.resolve()  # `.` has no name
    plan = swept(out.name, cells, seeds)
    failed = carry_out([plan], {plan.name: engine}, out.parent, tracking, how)
    inventory = run_inventory(plan, out.parent, say, **how)
    if inventory.finished:
        others = list(inventory.ledger.records.values())
        entries = show_runs(out, inventory.finished, others)
        for line in best_settings(entries):
            print(line)
    if failed:
        fail(f"{failed} of {plan.runs} runs failed; repeat the command to retry them", 1)

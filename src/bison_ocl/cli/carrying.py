"""Engines that carry out the runs of `reproduce` and of a sweep, and their options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bison_ocl.cli.options import chosen_device
from bison_ocl.errors import UserError

if TYPE_CHECKING:
    from bison_ocl.experiments.carry.work import Carry
    from bison_ocl.experiments.plan.plan import Plan
    from bison_ocl.experiments.plan.units import Options
    from bison_ocl.experiments.tracking import Tracker

Engine = Annotated[
    Literal["local", "ray"], typer.Option(help="Train on this machine or on a Ray cluster.")
]
Address = Annotated[
    str | None,
    typer.Option(help="Address of the Ray cluster (default: $RAY_ADDRESS, or start one here)."),
]
Processes = Annotated[
    int | None, typer.Option(help="Train in N processes (default: one per core, or one on a GPU).")
]


def device_of(engine: str, device: str) -> str:
    """The device for `--device`; a GPU of a Ray cluster is on another node."""
    return device if engine == "ray" and device == "cuda" else chosen_device(device)


def carry_out(
    plans: Sequence[Plan],
    engines: dict[str, Carry],
    out: Path,
    tracking: Tracker | None,
    how: Options,
) -> int:
    """Carry out plans in turn; the number of failed runs."""
    from bison_ocl.experiments.carry.reproduce import reproduce
    from bison_ocl.experiments.records.results import RESULTS, read_complete
    from bison_ocl.experiments.terminal.board import showing
    from bison_ocl.experiments.terminal.show import say
    from bison_ocl.experiments.tracking import tracked

    failed = 0
    for found in plans:
        engine, together = engines[found.name], found.item.alone or how["device"] == "cuda"
        engine = tracked(engine, tracking) if tracking else engine
        for outcome in reproduce(found, out, together, engine, showing, say, **how):
            failed += len(outcome.job.seeds) - len(outcome.records)
        if tracking:  # runs finished earlier too
            tracking.keep_all(read_complete(out / found.name / RESULTS))
    return failed


def chosen_tracker(choice: str | None, out: Path) -> Tracker | None:
    """The tracker for `--track`, checked before anything is trained."""
    if choice is None:
        return None
    from bison_ocl.experiments.terminal.show import say
    from bison_ocl.experiments.tracking import tracker

    return tracker(choice, out, say)


def chosen_engine(
    name: str, address: str | None, device: str, processes: int | None, alone: bool
) -> Carry:
    """The engine with its options. alone: one unit at a time"""
    if name == "ray":
        if alone:
            raise UserError("time and efficiency measure one machine: leave out --engine ray")
        from bison_ocl.experiments.carry import cluster

        return partial(cluster.carry_out, address=address)
    if address is not None:
        raise UserError("--address is for a Ray cluster: add --engine ray")
    from bison_ocl.experiments.carry import local
    from bison_ocl.experiments.plan.machine import usual_processes

    at_once = 1 if alone else processes or usual_processes(device)
    return partial(local.carry_out, processes=at_once, warm_up=alone)

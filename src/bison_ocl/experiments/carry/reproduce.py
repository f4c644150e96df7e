"""Carries out a plan: skip finished runs, copy those of other items, train the rest."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, Unpack

from bison_ocl.experiments.carry.work import Carry, Outcome
from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.plan.plan import Plan
from bison_ocl.experiments.plan.units import Options, jobs, shared_name, specs, units
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.environment import environment
from bison_ocl.experiments.records.ledger import Ledger, check_versions, looked_up, of_other_items
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.results import RESULTS
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.runner import Job, Say
from bison_ocl.files.durable import check_writable
from bison_ocl.files.lock import only_one
from bison_ocl.methods.outside import source_digest

ALONE = tuple(name for name, item in ITEMS.items() if item.alone)
"""items whose runs are measured with nothing in parallel, and never copied"""


class Board(Protocol):
    """A display of the progress of units."""

    def started(self, job: Job) -> None: ...

    def done(self, outcome: Outcome) -> None: ...


Show = Callable[[Sequence[Job]], AbstractContextManager[Board]]


@dataclass(frozen=True)
class Inventory:
    """The runs of an item: finished, finished in another item, missing."""

    ledger: Ledger
    finished: list[Record]
    elsewhere: list[Record]
    """its runs found in other items"""
    missing: list[tuple[Job, list[Spec]]]
    """of each cell"""


def reproduce(
    plan: Plan,
    out: Path,
    together: bool,
    carry_out: Carry,
    show: Show,
    say: Say,
    **options: Unpack[Options],
) -> list[Outcome]:
    """Carry out a plan, write OUT/ITEM/results.jsonl and return the failed units.

    together: the seeds of a cell form one unit instead of one unit per seed
    """
    folder = out / plan.name
    check_writable(folder)
    with only_one(folder / ".lock", str(folder)):
        if records.set_aside_torn_line(folder / RESULTS):
            say(f"moved a truncated line to {folder / RESULTS}.torn; its run will be trained again")
        runs = run_inventory(plan, out, say, **options)
        if plan.item.alone:
            device, compiling = options.get("device", "cpu"), options.get("compiling", False)
            warn_of_machines(runs.finished, say, device, compiling)
        for record in runs.elsewhere:
            runs.ledger.add(record)
        todo = [unit for job, specs in runs.missing for unit in units(job, specs, together)]
        count = sum(len(unit.seeds) for unit in todo)
        copied = f", {len(runs.elsewhere)} copied from other items" if plan.copies else ""
        say(f"{plan.name}: {count} runs to do, {len(runs.finished)} finished{copied}")
        failed: list[Outcome] = []
        if todo:
            with show(todo) as board:
                carry_out(todo, board.started, partial(receive, runs.ledger, failed, board))
        clear([job for job, _ in runs.missing], runs.ledger)
    return failed


def run_inventory(plan: Plan, out: Path, say: Say, **options: Unpack[Options]) -> Inventory:
    """Sort the runs of a plan: finished here, finished in another item, or missing."""
    folder = out / plan.name
    ledger = Ledger(folder / RESULTS)
    apart = plan.item.alone or not plan.copies
    others = {} if apart else of_other_items(folder, ALONE, say)
    runs, seen = Inventory(ledger, [], [], []), set()
    for job in jobs(plan, folder / "work", **options):
        rest: list[Spec] = []
        wanted = specs(job)
        check_versions(ledger.records.values(), wanted[0], ledger.path)
        for spec in wanted:
            if (identity := spec.identity) in seen:  # the same settings, written differently
                continue
            seen.add(identity)
            if (record := looked_up(ledger.records, spec, job.also)) is not None:
                runs.finished.append(record)
            elif (record := looked_up(others, spec, job.also)) is not None and (
                record.method_source == source_digest(spec.method)
            ):
                runs.elsewhere.append(record)
            else:
                rest.append(spec)
        runs.missing.append((job, rest))
    return runs


def warn_of_machines(measured: Sequence[Record], say: Say, device: str, compiling: bool) -> None:
    """Warn if a table of times would mix machines, or compiled and uncompiled steps."""
    here = machine(environment(device).device, compiling and device == "cuda")
    there = [(one.environment.device, one.timing.compiled) for one in measured]
    if others := {machine(*one) for one in there} - {here}:
        found = "; ".join(sorted(others))
        say(f"finished runs were measured on {found}, this is {here}: choose another --out")


def machine(device: str, compiled: bool) -> str:
    return f"{device}, compiled" if compiled else device


def receive(ledger: Ledger, failed: list[Outcome], board: Board, outcome: Outcome) -> None:
    """Write the records of a unit, then remove its folder: a kill in between loses nothing."""
    for record in outcome.records:
        ledger.add(record)
    if outcome.error is None:
        shutil.rmtree(outcome.job.out, ignore_errors=True)
    else:
        outcome = with_trace_kept(outcome)
        failed.append(outcome)
    board.done(outcome)


def with_trace_kept(outcome: Outcome) -> Outcome:
    """The outcome with its traceback in a file that the error names."""
    if outcome.trace is None:
        return outcome
    path = outcome.job.out / "error.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(outcome.trace, "utf-8", "backslashreplace")
    except OSError:  # the error stays one line
        return outcome
    return replace(outcome, error=f"{outcome.error} ({path})")


def clear(jobs: Sequence[Job], ledger: Ledger) -> None:
    """Remove leftover folders of finished runs, after a kill or a run on another device."""
    for job in jobs:
        runs = specs(job)
        done = [spec for spec in runs if looked_up(ledger.records, spec, job.also) is not None]
        names = [spec.name for spec in done]
        names += [shared_name(runs[0])] if len(done) == len(runs) else []
        for name in names if job.out.exists() else []:
            shutil.rmtree(job.out / name, ignore_errors=True)
    for work in {job.out for job in jobs}:
        with suppress(OSError):  # it is not empty, or does not exist
            work.rmdir()

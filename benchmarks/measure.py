"""Run cells of `reproduce` in the given order, on a machine with torch and little else.

    PYTHONPATH=src python -m benchmarks.measure --out DIR --data-dir DIR --processes 8 \
        table1:er,pcr:0-9:split-cifar10 table1:ocm:0-4:split-cifar10:500:old_logits=position ...

Each entry is ITEM:METHODS:SEEDS:DATA[:MEMORIES[:SETTING=VALUE]]; with a setting, only the cells
that have it, or not if it has no value (`old_logits=`). The seeds of a cell are one unit; `0/1/2`
makes three, whose records are there as each ends. All entries share one pool of processes, so the
GPU never waits for the last cell of an entry. Runs that OUT/ITEM/results.jsonl holds are skipped;
records are appended as units finish. Runs that another item in OUT holds are not trained either but
copied, at the start and at the end, with the FINE-TUNE references that the item needs; times never
are. A failing unit is reported and does not stop the others. One that was killed goes on from its
last task when the same command is repeated. --plan lists the units; --until SECONDS starts none
later.

Side by side, processes of CUDA's MPS finish sooner in all, but each one later: GDumb's thousands of
short steps suffer most, so give it few neighbours. Each process believes in its share of the GPU's
memory and may train fewer seeds at once than fit; --seeds-at-once overrides.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from math import inf
from pathlib import Path

import torch

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry import local
from bison_ocl.experiments.carry.reproduce import Inventory, run_inventory
from bison_ocl.experiments.carry.work import Outcome
from bison_ocl.experiments.plan.plan import Plan, Wanted, plan
from bison_ocl.experiments.plan.units import Options, units
from bison_ocl.experiments.records.ledger import Ledger
from bison_ocl.experiments.records.spec import parse_seeds
from bison_ocl.experiments.train.runner import Job

FORM = "ITEM:METHODS:SEEDS:DATA[:MEMORIES[:SETTING=VALUE]]"


def parts_of(entry: str) -> list[str]:
    """The parts of an entry, refused if they are too few, too many or no memory sizes."""
    parts = entry.split(":")
    sizes = parts[4].split(",") if len(parts) > 4 else []
    if not 4 <= len(parts) <= 6 or not all(size.isdecimal() for size in sizes):
        raise UserError(f"{entry}: expected {FORM}, such as table1:er,pcr:0-4:split-cifar10:500")
    return parts


def wanted(entry: str) -> tuple[str, Wanted]:
    """The item of an entry, and what of it is wanted."""
    item, methods, seeds, data, *rest = parts_of(entry)
    sizes = [int(size) for size in rest[0].split(",")] if rest else []
    return item, Wanted(parse_seeds(seeds), methods.split(","), data.split(","), sizes)


def asks_for(entry: str, unit: Job) -> bool:
    """Whether an entry names the method of a unit, not as a reference only, and its setting."""
    _, methods, _, _, *rest = entry.split(":")
    name, _, value = rest[1].partition("=") if len(rest) > 1 else ("", "", "")
    return unit.method in methods.split(",") and unit.settings.get(name, "") == value


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def apart(entries: Iterable[str]) -> Iterator[str]:
    """One entry per part of the seeds: `0/1/2` is three."""
    for entry in entries:
        item, methods, seeds, *rest = parts_of(entry)
        yield from (":".join((item, methods, part, *rest)) for part in seeds.split("/"))


class Pool:
    """What is to be done, and who keeps the records of it."""

    def __init__(self, entries: list[str], out: Path, **options: object) -> None:
        self.ledgers: dict[Path, Ledger] = {}
        self.todo: list[Job] = []
        self.waiting = 0
        """units not yet started"""
        self.alone = False
        """whether a unit measures the machine"""
        self.again = 0
        """runs to do that have a record, without all of the item's readouts"""
        self._planned: set[tuple[str, str]] = set()
        how: Options = {"checkpoint_every": 1e9, **options}  # type: ignore[typeddict-item]
        self._plans = [plan(*wanted(entry)) for entry in apart(entries)]
        self._inventory = partial(run_inventory, out=out, say=say, **how)
        for entry, chosen in zip(apart(entries), self._plans, strict=True):
            inventory = self._inventory(chosen)
            self.alone |= chosen.item.alone
            for unit in self._units(entry, chosen, inventory):
                self.ledgers[unit.out] = inventory.ledger
                self.todo.append(unit)
        self.waiting = len(self.todo)

    def _units(self, entry: str, chosen: Plan, inventory: Inventory) -> Iterator[Job]:
        """Units of an entry, without the runs that an earlier one has; times are not shared."""
        sharing = chosen.name if chosen.item.alone else ""
        asked = [pair for pair in inventory.missing if asks_for(entry, pair[0])]
        if not asked:
            raise UserError(
                f"{entry}: no cell has this setting; a default has no value, as `beta=`"
            )
        for job, missing in asked:
            left = [spec for spec in missing if (sharing, spec.identity) not in self._planned]
            self._planned |= {(sharing, spec.identity) for spec in left}
            self.again += sum(spec.identity in inventory.ledger.records for spec in left)
            for unit in units(job, left, together=len(chosen.seeds) > 1):
                if unit.out in self.ledgers:
                    raise UserError(f"two entries share {described(unit)}: put its seeds into one")
                yield unit

    def copy(self) -> None:
        """Give each item the runs of its plan that others in the folder have."""
        for chosen in self._plans:
            inventory = self._inventory(chosen)  # read again: these units may have added some
            for record in inventory.elsewhere:
                inventory.ledger.add(record)
            if inventory.elsewhere:
                say(f"{chosen.name}: {len(inventory.elsewhere)} runs copied from other items")

    def started(self, unit: Job) -> None:
        self.waiting -= 1
        say(f"{described(unit)} starts")

    def done(self, outcome: Outcome) -> None:
        for record in outcome.records:
            self.ledgers[outcome.job.out].add(record)
        say(f"{described(outcome.job)}: {outcome.error or summary(outcome)}")
        if outcome.trace:
            print(outcome.trace, file=sys.stderr, flush=True)


def described(unit: Job) -> str:
    settings = "".join(f" {name}={value}" for name, value in unit.settings.items())
    seeds = f"{len(unit.seeds)} seeds" if len(unit.seeds) > 1 else f"seed {unit.seeds[0]}"
    return f"{unit.method}{settings} {unit.data} {unit.memory} ({seeds})"


def summary(outcome: Outcome) -> str:
    found = outcome.records
    accuracy = sum(record.metrics.AA for record in found) / len(found)
    seconds = sum(record.timing.total_s for record in found)
    return f"AA {100 * accuracy:.1f} %, {seconds:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entries", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seeds-at-once", type=int, default=None)
    parser.add_argument("--until", type=float, default=inf, metavar="SECONDS")
    parser.add_argument("--plan", action="store_true")
    arguments = parser.parse_args()
    try:
        pool = Pool(
            arguments.entries,
            arguments.out,
            device="cuda" if torch.cuda.is_available() else "cpu",
            precision=arguments.precision,
            data_dir=arguments.data_dir,
            seeds_at_once=arguments.seeds_at_once,
        )
    except UserError as error:
        parser.error(str(error))
    if pool.alone and arguments.processes > 1:
        parser.error("an item that measures the machine needs --processes 1")
    say(f"{len(pool.todo)} units to do")
    if pool.again:
        say(f"{pool.again} runs of them have a record that lacks readouts: they train again")
    if arguments.plan:
        print(*map(described, pool.todo), sep="\n")
        return
    pool.copy()
    if pool.todo:
        end = time.monotonic() + arguments.until
        local.carry_out(
            pool.todo,
            pool.started,
            pool.done,
            processes=arguments.processes,
            warm_up=pool.alone,
            go_on=lambda: time.monotonic() < end,
        )
        say(f"{pool.waiting} units were not started")
        pool.copy()  # what these units trained for several items


if __name__ == "__main__":
    main()

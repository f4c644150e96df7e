"""`reproduce`: plan, run and report tables and figures of the paper."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bison_ocl.cli.carrying import (
    Address,
    Engine,
    Processes,
    carry_out,
    chosen_engine,
    chosen_tracker,
    device_of,
)
from bison_ocl.cli.options import (
    CheckpointEvery,
    Compiling,
    DataDir,
    Device,
    Precision,
    Track,
    advise_on_precision,
    check_positive,
    chosen_device,
    folder_option,
    parts,
    whole_number,
)
from bison_ocl.cli.process.fail import fail
from bison_ocl.cli.report import write_and_show
from bison_ocl.errors import UserError, plural
from bison_ocl.experiments.records.results import RESULTS

if TYPE_CHECKING:
    from bison_ocl.experiments.plan.machine import Rate
    from bison_ocl.experiments.plan.plan import Plan
    from bison_ocl.experiments.plan.units import Options


def reproduce(
    items: Annotated[
        list[str] | None,
        typer.Argument(help="Items, such as table1, or all for the whole paper; see --list."),
    ] = None,
    listed: Annotated[
        bool,
        typer.Option(
            "--list",
            help="List the items with their runs, and the times estimated from the last --plan.",
        ),
    ] = False,
    planned: Annotated[
        bool,
        typer.Option("--plan", help="Show the plan and its estimated time without running it."),
    ] = False,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds, such as 0-4 (default: as many as in the paper).")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, such as er,bison (default: all).")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Only these datasets (default: all); one outside the item replaces its own."
        ),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Only these memory sizes, such as 200,500 (default: all).")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Setting, key=value, for every method that reads it; repeatable."
        ),
    ] = None,
    device: Device = "auto",
    precision: Precision = "tf32",
    compiling: Compiling = False,
    engine: Engine = "local",
    address: Address = None,
    processes: Processes = None,
    checkpoint_every: CheckpointEvery = 30.0,
    out: Annotated[Path, folder_option(help="Folder for all items and the report.")] = Path(
        "reproduction"
    ),
    track: Track = None,
    data_dir: DataDir = None,
) -> None:
    """Train the missing runs of the paper's tables and figures.

    Ends with a report that compares with the paper's numbers.
    """
    check_positive(processes=processes, checkpoint_every=checkpoint_every)
    if listed and not items:
        list_items(device, precision, processes)
        return
    if listed or not items:
        raise UserError("give an item, or --list alone to list the items")
    from bison_ocl.data import plain_name
    from bison_ocl.experiments.plan.plan import Wanted, named, plans
    from bison_ocl.experiments.records.spec import parse_seeds
    from bison_ocl.methods import registered_name

    wanted = Wanted(
        seeds=parse_seeds(seeds) if seeds is not None else (),
        methods=[registered_name(text) for text in parts("methods", methods)],
        data=[plain_name(text) for text in parts("data", data)],
        memory=[whole_number("memory", part) for part in parts("memory", memory)],
        settings=assignments(settings),
    )
    chosen = plans(named(items), wanted)
    if planned:
        show_plans(chosen, out, device, precision, processes)
        return
    where = device_of(engine, device)
    advise_on_precision(where, precision)
    engines = {
        found.name: chosen_engine(engine, address, where, processes, found.item.alone)
        for found in chosen
    }
    how: Options = {
        "device": where,
        "precision": precision,
        "compiling": compiling,
        "data_dir": data_dir,
        "checkpoint_every": checkpoint_every,
    }
    tracking = chosen_tracker(track, out)
    with tracking or nullcontext():
        failed = carry_out(chosen, engines, out, tracking, how)
    write_report([found.name for found in chosen], out)
    if failed:
        runs = sum(found.runs for found in chosen)
        fail(f"{failed} of {runs} runs failed; repeat the command to retry them", 1)


def write_report(names: Sequence[str], out: Path) -> None:
    """Write the report of all results, if there are any, and print the tables of these items."""
    done = [name for name in names if (out / name / RESULTS).exists()]
    if not done:  # every run failed
        return
    try:
        write_and_show(out, items=done)
    except UserError as error:
        raise UserError(f"the runs are kept, but there is no report: {error}") from error
    except ModuleNotFoundError as error:  # a GPU machine with torch and little else
        package = str(error.name).partition(".")[0]
        advice = f"{package} is missing; run `bison-ocl report` on a machine that has it"
        raise UserError(f"the runs are kept, but there is no report: {advice}") from error


def show_plans(
    plans: Sequence[Plan], out: Path, device: str, precision: Precision, processes: int | None
) -> None:
    """Print what each plan would run, for this machine or for one with a GPU."""
    from bison_ocl.experiments.plan.machine import last, measured, usual_processes

    here = chosen_device("auto" if device == "cuda" else device)
    where = "cuda" if device == "cuda" else here
    rate = measured(where, precision) if where == here else last(where, precision)
    at_once = processes or usual_processes(where)
    for found in plans:
        show_plan(found, out, where, precision, rate, at_once)
    if rate is None:
        print("No estimates: torch finds no GPU here.")
    else:
        print(f"Estimates: {rate.words}; they may be wrong by a factor of two.")
    if len(plans) > 1:
        print("Runs that items share are trained once, for the first item, and copied.")


def show_plan(
    found: Plan, out: Path, device: str, precision: Precision, rate: Rate | None, processes: int
) -> None:
    """Print a plan, how many of its runs are left, and an estimate of their time."""
    from bison_ocl.experiments.plan.agenda import contents, left_of, time_of
    from bison_ocl.experiments.terminal.show import show_table

    left = left_of(found, out, lambda text: print(text, file=sys.stderr), device, precision)
    show_table(contents(found, left))
    time = f", about {time_of(found, left, rate, processes)}" if rate and sum(left) else ""
    runs = f"{found.runs} runs, {plural(len(found.seeds), 'seed')} per cell"
    print(f"{found.name}: {runs}; {sum(left)} left to run{time}")


def list_items(device: str, precision: str, processes: int | None) -> None:
    """Print the items of the paper, with times by the rate that was last measured here."""
    from bison_ocl.experiments.plan.agenda import listing
    from bison_ocl.experiments.plan.machine import last, usual_processes
    from bison_ocl.experiments.terminal.show import show_table

    rate = last(device, precision)
    at_once = processes or usual_processes(rate.device if rate else device)
    show_table(listing(rate, at_once))
    print("new: runs that no item above has; runs that items share are trained once.")
    if rate is None:
        print("No estimates yet: `bison-ocl reproduce ITEM --plan` measures this machine.")
        return
    print(
        f"Estimates: {rate.words}; other methods scale by images per step; processes: {at_once}. "
        "They may be wrong by a factor of two."
    )


def assignments(settings: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Settings as pairs; the parser is imported only if there are any."""
    if not settings:
        return ()
    from bison_ocl.methods.settings import parse

    return tuple(parse(settings).items())

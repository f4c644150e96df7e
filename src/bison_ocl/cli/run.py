"""`run`: train methods on a dataset, one run after another or as a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bison_ocl.cli.carrying import (
    Address,
    Engine,
    Processes,
    chosen_engine,
    chosen_tracker,
    device_of,
)
from bison_ocl.cli.options import (
    CheckpointEvery,
    Compiling,
    DataDir,
    Device,
    HeldOut,
    ImageSize,
    Precision,
    Tasks,
    Track,
    Validate,
    advise_on_precision,
    check_positive,
    data_options,
    folder_option,
    parts,
    whole_number,
)
from bison_ocl.cli.sweep import sweep
from bison_ocl.errors import UserError

if TYPE_CHECKING:
    from bison_ocl.experiments.plan.units import Options
    from bison_ocl.experiments.tracking import Tracker
    from bison_ocl.experiments.train.runner import Job

Axes = dict[str, Sequence[str]]
"""values by setting, as text"""
MEMORY = 1000
"""images, where no size is given"""


def run(
    method: Annotated[
        str,
        typer.Argument(
            help="Method, path/to/mine.py:Mine, or several with commas; see `bison-ocl methods`."
        ),
    ],
    data: Annotated[str, typer.Option(help="Dataset; see `bison-ocl datasets`.")],
    memory: Annotated[
        str | None,
        typer.Option(help="Capacity of the memory in images, or several: 50,100 (default: 1000)."),
    ] = None,
    stream: Annotated[
        str, typer.Option(help="Stream, such as blurry:disjoint=50; see `bison-ocl streams`.")
    ] = "class-incremental",
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-9 or 0,2,5.")] = "0",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Setting, key=value, or several values: beta=0.05,0.1; for every method that "
            "reads it; repeatable. See `bison-ocl methods NAME`.",
        ),
    ] = None,
    grid: Annotated[
        Path | None,
        folder_option(help="TOML or JSON file with values by setting: beta = [0.05, 0.1]."),
    ] = None,
    validate: Validate = None,
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Also train FINE-TUNE, which AI needs.")
    ] = False,
    device: Device = "auto",
    out: Annotated[Path, folder_option(help="Folder for results.jsonl and checkpoints.")] = Path(
        "runs"
    ),
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue interrupted seeds from their checkpoints; sweeps always do."
        ),
    ] = False,
    checkpoint_every: CheckpointEvery = 30.0,
    save_model: Annotated[
        bool, typer.Option("--save-model", help="Save each trained model for Learner.load.")
    ] = False,
    average: Annotated[
        float | None,
        typer.Option(
            help="Average the weights with this decay per step, such as 0.995, and also score "
            "them, as `averaged` (default: no average)."
        ),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            help="Also score the networks by these rules: ncm, ncm-raw, ncm-centred, ld or "
            "ld-centred, each also with -mirror or -crop; averaged+ld-mirror uses the averaged "
            "weights. Repeatable, or with commas."
        ),
    ] = None,
    seeds_at_once: Annotated[
        int | None,
        typer.Option(help="Seeds trained together (default: as many as fit on a GPU, 1 on a CPU)."),
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            help="Network instead of the method's own: package.module:factory, which makes a "
            "torch.nn.Module that returns features [B, d], or timm:NAME, pretrained."
        ),
    ] = None,
    precision: Precision = "tf32",
    compiling: Compiling = False,
    engine: Engine = "local",
    address: Address = None,
    processes: Processes = None,
    track: Track = None,
    data_dir: DataDir = None,
    image_size: ImageSize = None,
    tasks: Tasks = None,
    held_out: HeldOut = None,
) -> None:
    """Train methods on a dataset and print their metrics.

    Lists of methods, memory sizes or values make a sweep, which trains runs in parallel.
    """
    from bison_ocl.experiments.records.spec import parse_seeds

    asked = parse_seeds(seeds)
    sizes = [whole_number("memory", part) for part in parts("memory", memory)]
    check_positive(checkpoint_every=checkpoint_every, processes=processes)
    check_positive(seeds_at_once=seeds_at_once)
    from bison_ocl.data import plain_name
    from bison_ocl.experiments.plan.grid import Grid
    from bison_ocl.experiments.plan.plan import merged
    from bison_ocl.experiments.plan.units import job_of
    from bison_ocl.methods import registered_name

    data = plain_name(data)
    names = [registered_name(text) for text in parts("methods", method)]
    axes = values(settings or [], average, grid)
    memories = memory_sizes(sizes, axes.get("memory", ()))
    axes = {name: found for name, found in axes.items() if name != "memory"}
    chosen = Grid(names, data, memories, axes, stream, readouts(also or []))
    how: Options = {
        "device": device_of(engine, device),
        "precision": precision,
        "compiling": compiling,
        "data_dir": data_dir,
        "data_options": data_options(image_size, tasks, held_out, validate),
        "checkpoint_every": checkpoint_every,
        "seeds_at_once": seeds_at_once,
        "backbone": backbone,
    }
    advise_on_precision(how["device"], precision)
    carry = chosen_engine(engine, address, how["device"], processes, alone=False)
    cells = chosen.cells()
    tracking = chosen_tracker(track, out)
    if len(cells) > 1 or engine == "ray" or processes:
        refuse_models(save_model)
        chosen = replace(chosen, stream=canonical_stream(stream, data, how))
        references = chosen.references() if with_reference else ()
        with tracking or nullcontext():
            sweep([*references, *chosen.cells()], asked, out, carry, tracking, how)
        return
    cells = merged([*(chosen.references() if with_reference else ()), *cells])
    jobs = [job_of(cell, asked, out, **how) for cell in cells]
    jobs = [replace(job, resume=resume, save_model=save_model) for job in jobs]
    with tracking or nullcontext():
        one_by_one(jobs, tracking)


def one_by_one(jobs: Sequence[Job], tracking: Tracker | None) -> None:
    """Train jobs in this process, the method after its reference, and print a table."""
    from bison_ocl.cli.report import show_runs
    from bison_ocl.experiments.records.results import read
    from bison_ocl.experiments.terminal.bar import watching
    from bison_ocl.experiments.terminal.show import say
    from bison_ocl.experiments.tracking.run_update import with_updates
    from bison_ocl.experiments.train.runner import run

    watch = with_updates(watching, tracking.update) if tracking else watching
    on_record = tracking.keep if tracking else None
    found = [record for job in jobs for record in run(job, watch, say, on_record)]
    if tracking:  # runs finished earlier too
        tracking.keep_all(found)
    show_runs(jobs[0].out, found, others=read(jobs[0].results))


def values(settings: Sequence[str], average: float | None, grid: Path | None) -> Axes:
    """The values of every setting, from the command line and a grid file."""
    from bison_ocl.experiments.plan.grid import joined, listed
    from bison_ocl.experiments.plan.grid_file import values_in
    from bison_ocl.methods.settings import parse

    given = parse(settings)
    if average is not None:
        if "average" in given:
            raise UserError("average is given by --average and by --set: give it once")
        given["average"] = str(average)
    return joined(listed(given), values_in(grid) if grid else {})


def memory_sizes(given: Sequence[int], in_grid: Sequence[str]) -> Sequence[int]:
    """The memory sizes of --memory or of a grid file, or the default."""
    if given and in_grid:
        raise UserError("memory is given by --memory and in the grid: give it once")
    return given or [whole_number("memory", text) for text in in_grid] or [MEMORY]


def canonical_stream(stream: str, data: str, how: Options) -> str:
    """The stream as records name it; the dataset is opened, so errors come before the first run."""
    from bison_ocl.data import load
    from bison_ocl.stream.streams import canonical

    return canonical(stream, load(data, how["data_dir"], **how["data_options"]))


def refuse_models(wanted: bool) -> None:
    if wanted:
        raise UserError("--save-model is for one method and one choice of settings: leave it out")


def readouts(texts: Sequence[str]) -> tuple[str, ...]:
    """The names of --also, each once."""
    return tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",")))

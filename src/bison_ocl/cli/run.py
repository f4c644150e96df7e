"""`run`: train one method on one dataset."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    check_positive,
    chosen_device,
    folder_option,
    folder_options,
)
from bison_ocl.errors import UserError

if TYPE_CHECKING:
    from bison_ocl.experiments.train.runner import Job


def run(
    method: Annotated[
        str, typer.Argument(help="Method, or path/to/mine.py:Mine; see `bison-ocl methods`.")
    ],
    data: Annotated[str, typer.Option(help="Dataset; see `bison-ocl datasets`.")],
    memory: Annotated[int, typer.Option(help="Capacity of the memory in images.")] = 1000,
    stream: Annotated[
        str, typer.Option(help="Stream, such as blurry:disjoint=50; see `bison-ocl streams`.")
    ] = "class-incremental",
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-9 or 0,2,5.")] = "0",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting of the method, key=value; repeatable."),
    ] = None,
    device: Device = "auto",
    out: Annotated[Path, folder_option(help="Folder for results.jsonl and checkpoints.")] = Path(
        "runs"
    ),
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue interrupted seeds from their checkpoints.")
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
            help="Also score the networks by these rules: ncm, ncm-raw or ld, each also with "
            "-mirror; averaged+ld-mirror uses the averaged weights. Repeatable, or with commas."
        ),
    ] = None,
    seeds_at_once: Annotated[
        int | None,
        typer.Option(help="Seeds trained together (default: as many as fit on a GPU, 1 on a CPU)."),
    ] = None,
    precision: Precision = "tf32",
    compiling: Compiling = False,
    track: Track = None,
    data_dir: DataDir = None,
    image_size: ImageSize = None,
    tasks: Tasks = None,
    held_out: HeldOut = None,
) -> None:
    """Train one method on one dataset and print its metrics."""
    from bison_ocl.experiments.records.spec import parse_seeds

    asked = parse_seeds(seeds)
    if memory < 0:
        raise UserError(f"--memory {memory}: expected 0 or more")
    check_positive(checkpoint_every=checkpoint_every)
    from bison_ocl.experiments.records.results import read
    from bison_ocl.experiments.terminal.bar import say, watching
    from bison_ocl.experiments.tracking import track_all, tracker
    from bison_ocl.experiments.train.runner import Job, run
    from bison_ocl.methods import named
    from bison_ocl.methods.outside import source_of
    from bison_ocl.methods.settings import parse
    from bison_ocl.report.formats.text import show
    from bison_ocl.report.study.study import doubts, prepared
    from bison_ocl.report.tables.layouts import overview

    name = named(method)
    job = Job(
        name,
        data,
        memory,
        asked,
        parse(settings or []) | ({} if average is None else {"average": str(average)}),
        out,
        device=chosen_device(device),
        resume=resume,
        checkpoint_every=checkpoint_every,
        save_model=save_model,
        stream=stream,
        data_dir=data_dir,
        data_options=folder_options(image_size, tasks, held_out),
        also=readouts(also or [], average),
        seeds_at_once=seeds_at_once,
        precision=precision,
        compiling=compiling,
        source=source_of(name),
    )
    tracking = tracker(track, out) if track else None
    found = run(job, watching, say)
    everything = read(job.results)
    entries = prepared(found, beside=everything)
    show(overview(out.name, entries))
    for doubt in doubts(name, entries):
        say(doubt)
    if tracking:
        track_all(found, tracking)
    if any(entry.reference is None for entry in entries):
        say(f"AI needs FINE-TUNE on the same seeds: {shlex.join(reference(job, seeds))}")


def readouts(texts: Sequence[str], average: float | None) -> tuple[str, ...]:
    """The names of --also, each once, with `averaged` if weights are averaged."""
    names = [name.strip() for text in texts for name in text.split(",")]
    return tuple(dict.fromkeys([*names, "averaged"] if average else names))


def reference(job: Job, seeds: str) -> list[str]:
    """The command that trains the FINE-TUNE reference for the AI of a job."""
    from bison_ocl.experiments.plan.paper import REFERENCE
    from bison_ocl.experiments.plan.plan import settings_read_by
    from bison_ocl.experiments.records.spec import PLAIN
    from bison_ocl.stream.streams import DEFAULT

    words = ["bison-ocl", "run", REFERENCE, "--data", job.data, "--seeds", seeds]
    words += ["--out", str(job.out)]
    words += ["--stream", job.stream] if job.stream != DEFAULT else []
    words += ["--data-dir", str(job.data_dir)] if job.data_dir else []
    words += ["--precision", job.precision] if job.precision != PLAIN else []
    shared = settings_read_by(REFERENCE)
    for name, value in job.settings.items():
        words += ["--set", f"{name}={value}"] if name in shared else []
    for name, value in job.data_options.items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    return words

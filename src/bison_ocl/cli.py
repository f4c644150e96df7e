"""The command `bison-ocl`. Heavy imports wait until a command computes something."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from bison_ocl.errors import UserError

if TYPE_CHECKING:
    from bison_ocl.experiments.plan import Plan

app = typer.Typer(
    help="Online class-incremental learning: BISON and the methods it is compared with.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(help="Fetch and check datasets.", no_args_is_help=True)
app.add_typer(data_app, name="data")
DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of the datasets; else $BISON_OCL_DATA, else ~/.cache/bison-ocl."),
]


Precision = Annotated[str, typer.Option(help="Numbers of the convolutions: tf32, bf16 or fp32.")]
Track = Annotated[
    str | None, typer.Option(help="Show finished runs in tensorboard[:FOLDER] or mlflow[:URI] too.")
]
Compiling = Annotated[
    bool, typer.Option("--compile", help="On a GPU, compile steps: a minute, kept for later.")
]
ImageSize = Annotated[int | None, typer.Option(help="folder:PATH: side of the images.")]
Tasks = Annotated[int | None, typer.Option(help="folder:PATH: tasks to cut it into.")]
HeldOut = Annotated[float | None, typer.Option(help="folder:PATH: share kept for testing.")]


def main() -> None:
    """Run the command; bad input ends in one line and status 2."""
    try:
        status = app(standalone_mode=False)
    except UserError as error:
        fail(str(error), 2)
    except Exception as error:
        if not hasattr(error, "format_message"):  # not one of the parser's own
            raise
        fail(error.format_message(), 2)
    if status == STOPPED:
        fail(
            "stopped; what is finished is kept: `run --resume`, or `reproduce` again, goes on",
            STOPPED,
        )
    sys.exit(status if isinstance(status, int) else 0)


STOPPED = 130
"""The status after Ctrl-C."""


def fail(message: str, status: int) -> NoReturn:
    """Say in one line what is wrong; a help text is shown as it is."""
    lines = message.splitlines()
    whole = message if len(lines) > 3 else f"bison-ocl: {' '.join(lines)}"
    print(whole, file=sys.stderr)
    sys.exit(status)


def show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"bison-ocl {version('bison-ocl')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Online class-incremental learning: BISON and the methods it is compared with."""


@app.command()
def methods() -> None:
    """List the methods, with their papers."""
    from bison_ocl import methods as package
    from bison_ocl.catalogue import method_listing

    modules = {name: path.split(".")[0] for name, path in package.METHODS.items()}
    print(method_listing(package, modules))


@app.command()
def datasets() -> None:
    """List the datasets."""
    from bison_ocl import data
    from bison_ocl.catalogue import listing

    print(listing(data, data.DATASETS))


@app.command()
def streams() -> None:
    """List the streams: in which tasks and order the images of a dataset arrive."""
    from bison_ocl import stream
    from bison_ocl.catalogue import listing
    from bison_ocl.stream.streams import STREAMS

    print(listing(stream, STREAMS))


@app.command()
def run(
    method: Annotated[str, typer.Argument(help="A method; see `bison-ocl methods`.")],
    data: Annotated[str, typer.Option(help="A dataset; see `bison-ocl datasets`.")],
    memory: Annotated[int, typer.Option(help="Images the memory holds.")] = 1000,
    stream: Annotated[
        str, typer.Option(help="A stream, such as blurry:disjoint=50; see `bison-ocl streams`.")
    ] = "class-incremental",
    seeds: Annotated[str, typer.Option(help="Such as 0-9 or 0,2,5.")] = "0",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting, key=value; repeatable.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[Path, typer.Option(help="Folder for results.jsonl and checkpoints.")] = Path(
        "runs"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Continue interrupted seeds.")] = False,
    checkpoint_every: Annotated[float, typer.Option(help="Seconds between checkpoints.")] = 30.0,
    save_model: Annotated[
        bool, typer.Option("--save-model", help="Keep each trained model, for Learner.load.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option(help="Score the same networks by another rule too: ncm."),
    ] = None,
    seeds_at_once: Annotated[
        int | None,
        typer.Option(help="Seeds trained together; else as many as fit on a GPU, one on a CPU."),
    ] = None,
    precision: Precision = "tf32",
    compiling: Compiling = False,
    track: Track = None,
    data_dir: DataDir = None,
    image_size: ImageSize = None,
    tasks: Tasks = None,
    held_out: HeldOut = None,
) -> None:
    """Train one method on one dataset, seed by seed, and print the table."""
    from bison_ocl.experiments.spec import parse_seeds

    asked = parse_seeds(seeds)
    if memory < 0:
        raise UserError("--memory must not be negative")
    check_positive(checkpoint_every=checkpoint_every)
    from bison_ocl.experiments.progress import say, watching
    from bison_ocl.experiments.records import read
    from bison_ocl.experiments.runner import Job, run
    from bison_ocl.experiments.spec import PLAIN
    from bison_ocl.experiments.tracking import track_all, tracker
    from bison_ocl.methods.settings import parse
    from bison_ocl.report.tables import rows, show
    from bison_ocl.stream.streams import DEFAULT

    job = Job(
        method,
        data,
        memory,
        asked,
        parse(settings or []),
        out,
        device=chosen_device(device),
        resume=resume,
        checkpoint_every=checkpoint_every,
        save_model=save_model,
        stream=stream,
        data_dir=data_dir,
        data_options=folder_options(image_size, tasks, held_out),
        also=tuple(dict.fromkeys(also or ())),
        seeds_at_once=seeds_at_once,
        precision=precision,
        compiling=compiling,
    )
    tracking = tracker(track, out) if track else None
    found = run(job, watching, say)
    lines = rows(found, beside=read(job.results))
    show(lines)
    if tracking:
        track_all(found, tracking)
    if any(line.AI is None for line in lines):
        words = [
            "bison-ocl",
            "run",
            "finetune",
            "--data",
            data,
            "--seeds",
            seeds,
            "--out",
            str(out),
        ]
        words += ["--stream", stream] if job.stream != DEFAULT else []
        words += ["--data-dir", str(data_dir)] if data_dir else []
        words += ["--precision", precision] if precision != PLAIN else []
        for name, value in job.data_options.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        say(f"AI needs FINE-TUNE on the same seeds: {shlex.join(words)}")


@app.command()
def reproduce(
    item: Annotated[str | None, typer.Argument(help="Such as table1; see --list.")] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the items, their runs and their cost here.")
    ] = False,
    planned: Annotated[
        bool, typer.Option("--plan", help="Show what would run, and run nothing.")
    ] = False,
    seeds: Annotated[str | None, typer.Option(help="Such as 0-4; else the paper's number.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, such as er,bison.")] = None,
    data: Annotated[
        str | None,
        typer.Option(help="Only these datasets; an item is moved to one that it does not use."),
    ] = None,
    memory: Annotated[str | None, typer.Option(help="Only these sizes, such as 200,500.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value for all methods that read it; repeatable."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    precision: Precision = "tf32",
    compiling: Compiling = False,
    engine: Annotated[str, typer.Option(help="local, or ray for a cluster.")] = "local",
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster.")] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes on CPU; else one for each core.")
    ] = None,
    checkpoint_every: Annotated[float, typer.Option(help="Seconds between checkpoints.")] = 30.0,
    out: Annotated[Path, typer.Option(help="Folder for all items and the report.")] = Path(
        "reproduction"
    ),
    track: Track = None,
    data_dir: DataDir = None,
) -> None:
    """Run a table or figure of the paper, or what is left of it, and set it beside the paper's."""
    check_positive(processes=processes, checkpoint_every=checkpoint_every)
    if listed:
        list_items(chosen_device(device), processes)
        return
    if item is None:
        raise UserError("say which item: `bison-ocl reproduce --list` shows them")
    from bison_ocl.experiments.plan import Wanted, plan
    from bison_ocl.experiments.spec import parse_seeds

    wanted = Wanted(
        seeds=parse_seeds(seeds) if seeds is not None else (),
        methods=parts(methods),
        data=parts(data),
        memory=[whole_number("memory", part) for part in parts(memory)],
        settings=assignments(settings),
    )
    found = plan(item, wanted)
    if planned:
        show_plan(found, out, precision)
        return
    elsewhere = engine == "ray" and device == "cuda"  # the GPU is that of another node
    where, alone = device if elsewhere else chosen_device(device), found.item.alone
    together = alone or where == "cuda"
    from bison_ocl.experiments.board import showing
    from bison_ocl.experiments.engines import engine_named
    from bison_ocl.experiments.progress import say
    from bison_ocl.experiments.records import read
    from bison_ocl.experiments.reproduce import reproduce
    from bison_ocl.experiments.tracking import track_all, tracked, tracker
    from bison_ocl.report.write import write

    carry_out = engine_named(engine, together, alone, processes, address)
    tracking = tracker(track, out) if track else None
    failed = reproduce(
        found,
        out,
        together,
        tracked(carry_out, tracking) if tracking else carry_out,
        showing,
        say,
        device=where,
        precision=precision,
        compiling=compiling,
        data_dir=data_dir,
        checkpoint_every=checkpoint_every,
    )
    if (results := out / item / "results.jsonl").exists():  # else every run failed
        write(out, out)
        print(f"report: {out / 'report.html'}")
        if tracking:
            track_all(read(results), tracking)
    if failed:
        count = sum(len(outcome.job.seeds) for outcome in failed)
        fail(f"{count} of {found.runs} runs failed; the same command tries them again", 1)


def show_plan(found: Plan, out: Path, precision: str) -> None:
    """What a plan holds and what of it is left."""
    from bison_ocl.experiments.agenda import contents, left_of, show

    left = left_of(found, out, lambda text: print(text, file=sys.stderr), precision=precision)
    show(contents(found, left))
    print(f"{found.runs} runs, {len(found.seeds)} seeds of each; {sum(left)} of them to run")


def list_items(device: str, processes: int | None) -> None:
    """What the paper holds, and how long it would take here."""
    from bison_ocl.experiments.agenda import listing, show
    from bison_ocl.experiments.calibration import seconds_of_a_step
    from bison_ocl.experiments.local import cores

    step = seconds_of_a_step(device)
    at_once = 1 if device == "cuda" else processes or cores()
    show(listing(step, at_once))
    print(
        f"new: not in an item above, which is run once for both. Estimates: {1e3 * step:.0f} ms a "
        f"step of ER, timed just now, times recorded costs of methods, by {at_once} processes; "
        "wrong by a factor of two at times. On a GPU, seeds trained together take less."
    )


@app.command()
def rerun(
    place: Annotated[str, typer.Argument(help="A record: results.jsonl:LINE.")],
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    out: Annotated[Path, typer.Option(help="Folder for the new record.")] = Path("rerun"),
    data_dir: DataDir = None,
) -> None:
    """Run a record again from itself and say whether it comes out the same."""
    from bison_ocl.experiments.progress import say, watching
    from bison_ocl.experiments.rerun import chosen, compared, rerun
    from bison_ocl.report.tables import rows, show

    record = chosen(place)
    again = rerun(record, out, chosen_device(device), data_dir, watching, say)
    show(rows([again]))
    print(f"{place}: {compared(record, again)}")


@data_app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="A dataset; see `bison-ocl datasets`.")],
    data_dir: DataDir = None,
) -> None:
    """Download the official archive of a dataset, or say what to put where."""
    from bison_ocl.data import source_of
    from bison_ocl.data.official import ARCHIVES

    if name not in ARCHIVES:
        source_of(name, data_dir)
        print(f"{name} is there; it has no official archive to download")
        return
    from bison_ocl.data.bar import downloading
    from bison_ocl.data.fetch import fetch
    from bison_ocl.data.places import data_folder

    with downloading(ARCHIVES[name].file) as watch:
        path = fetch(ARCHIVES[name], data_folder(data_dir), watch)
    print(f"{path} is whole; `bison-ocl data check {name}` shows what is in it")


@data_app.command()
def check(
    name: Annotated[str, typer.Argument(help="A dataset; see `bison-ocl datasets`.")],
    data_dir: DataDir = None,
    out: Annotated[Path, typer.Option(help="Folder for the contact sheet.")] = Path(),
    image_size: ImageSize = None,
    tasks: Tasks = None,
    held_out: HeldOut = None,
) -> None:
    """Read the files of a dataset: counts, checksums, duplicates and a contact sheet."""
    from bison_ocl.data import source_of
    from bison_ocl.data.cache import state_of_cache
    from bison_ocl.data.check import check, describe
    from bison_ocl.data.places import cache_folder
    from bison_ocl.data.sheet import save

    source = source_of(name, data_dir, **folder_options(image_size, tasks, held_out))
    findings = check(source)
    print("\n".join(describe(findings)))
    print(f"contact sheet: {save(findings, out)}")
    print(f"cache: {state_of_cache(source, cache_folder(data_dir))}")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="With results.jsonl, or folders that have one.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the report; else the same.")] = None,
) -> None:
    """Set results beside the paper's: tables, figures, RESULTS.md and report.html."""
    from itertools import chain

    from bison_ocl.experiments.progress import say
    from bison_ocl.report.text import show
    from bison_ocl.report.write import write

    written = write(folder, out)
    show(chain.from_iterable(written.tables.values()))
    for warning in written.warnings:
        say(f"note: {warning}")
    print(f"report: {written.page}; to read and to print: {written.results}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for results and report.")] = Path("demo"),
    seeds: Annotated[str, typer.Option(help="Such as 0-4.")] = "0",
) -> None:
    """Compare FINE-TUNE, ER and BISON on embedded handwritten digits, in about a minute."""
    from bison_ocl.experiments.spec import parse_seeds

    asked = parse_seeds(seeds)
    from bison_ocl.experiments.demo import train_all
    from bison_ocl.report.tables import rows, show
    from bison_ocl.report.write import write

    show(rows(train_all(out, asked)))
    print(f"report: {write(out).page}")


def chosen_device(name: str) -> str:
    """cuda where there is one, unless the user says otherwise."""
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise UserError(f"--device {name}: choose auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no GPU here; use --device cpu")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"


def folder_options(
    image_size: int | None, tasks: int | None, held_out: float | None
) -> dict[str, Any]:
    """How to cut a folder of images, as far as the user says."""
    said = {"image_size": image_size, "tasks": tasks, "held_out": held_out}
    return {name: value for name, value in said.items() if value is not None}


def check_positive(**options: float | None) -> None:
    """Refuse numbers with which nothing can be done."""
    for name, value in options.items():
        if value is not None and not value > 0:
            raise UserError(f"--{name.replace('_', '-')} must be above 0")


def parts(text: str | None) -> list[str]:
    """`er,bison` as a list; nothing where nothing is said."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def whole_number(option: str, text: str) -> int:
    if not text.isdecimal():
        raise UserError(f"--{option} {text}: give whole numbers, such as 200,500")
    return int(text)


def assignments(settings: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Settings as pairs; what reads them is imported only where there are some."""
    if not settings:
        return ()
    from bison_ocl.methods.settings import parse

    return tuple(parse(settings).items())

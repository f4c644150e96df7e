"""The command `bison-ocl`. Heavy imports wait until a command computes something."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from bison_ocl.errors import UserError

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
        fail("stopped; what is finished is kept, and `run --resume` continues", STOPPED)
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
        int, typer.Option(help="Seeds trained together; more than 1 pays on a GPU only.")
    ] = 1,
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
    for option, value in (("checkpoint-every", checkpoint_every), ("seeds-at-once", seeds_at_once)):
        if not value > 0:
            raise UserError(f"--{option} must be above 0")
    from bison_ocl.experiments.progress import say, watching
    from bison_ocl.experiments.records import read
    from bison_ocl.experiments.runner import Job, run
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
    )
    lines = rows(run(job, watching, say), beside=read(job.results))
    show(lines)
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
        for name, value in job.data_options.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        say(f"AI needs FINE-TUNE on the same seeds: {shlex.join(words)}")


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
def demo(
    out: Annotated[Path, typer.Option(help="Folder for results and figures.")] = Path("demo"),
    seeds: Annotated[str, typer.Option(help="Such as 0-4.")] = "0",
) -> None:
    """Compare FINE-TUNE, ER and BISON on embedded handwritten digits, in about a minute."""
    from bison_ocl.experiments.spec import parse_seeds

    asked = parse_seeds(seeds)
    from bison_ocl.experiments.demo import train_all
    from bison_ocl.report.figures import curves, interplay
    from bison_ocl.report.tables import rows, show

    lines = rows(train_all(out, asked))
    show(lines)
    curves(lines, out / "curve.png")
    interplay(lines, out / "interplay.png")
    print(f"figures: {out / 'curve.png'}, {out / 'interplay.png'}")


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

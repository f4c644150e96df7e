"""The command `bison-ocl`. Heavy imports wait until a command computes something."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bison_ocl.errors import UserError

app = typer.Typer(
    help="Online class-incremental learning: BISON and the methods it is compared with.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Run the command; bad input ends in one line and status 2."""
    try:
        app()
    except UserError as error:
        print(f"bison-ocl: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("bison-ocl: stopped; `run --resume` continues", file=sys.stderr)
        sys.exit(130)


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
    """List the methods, with their papers; `bison-ocl methods` computes nothing."""
    from bison_ocl import methods as package
    from bison_ocl.catalogue import listing

    print(listing(package, {name: path.split(".")[0] for name, path in package.METHODS.items()}))


@app.command()
def datasets() -> None:
    """List the datasets."""
    from bison_ocl import stream
    from bison_ocl.catalogue import listing

    print(listing(stream, stream.DATASETS))


@app.command()
def run(
    method: Annotated[str, typer.Argument(help="A method; see `bison-ocl methods`.")],
    data: Annotated[str, typer.Option(help="A dataset; see `bison-ocl datasets`.")],
    memory: Annotated[int, typer.Option(help="Images the memory holds.")] = 1000,
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
) -> None:
    """Train one method on one dataset, seed by seed, and print the table."""
    from bison_ocl.experiments.spec import parse_seeds

    asked = parse_seeds(seeds)
    if memory < 0 or not checkpoint_every > 0:
        raise UserError("--memory must not be negative, --checkpoint-every must be above 0")
    from bison_ocl.experiments.progress import say, watching
    from bison_ocl.experiments.runner import Job, run
    from bison_ocl.methods.settings import parse
    from bison_ocl.report.tables import show

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
    )
    records = run(job, watching, say)
    show(records)
    if all(record["metrics"]["AI"] is None for record in records):
        say(
            f"AI needs FINE-TUNE on the same seeds: "
            f"bison-ocl run finetune --data {data} --seeds {seeds} --out {out}"
        )


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

    records = train_all(out, asked)
    show(records)
    curves(rows(records), out / "curve.png")
    interplay(rows(records), out / "interplay.png")
    print(f"figures: {out / 'curve.png'}, {out / 'interplay.png'}")


def chosen_device(name: str) -> str:
    """cuda where there is one, unless the user says otherwise."""
    import torch

    if name not in ("auto", "cpu", "cuda"):
        raise UserError(f"--device {name}: choose auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no GPU here; use --device cpu")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"

"""Options that several commands share, and what is made of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bison_ocl.errors import UserError


def expanded(path: Path | None) -> Path | None:
    """A folder with ~ made out; a shell leaves `--out=~/runs` as it is."""
    try:
        return path.expanduser() if path else path
    except RuntimeError as error:
        user = path.parts[0] if path else ""
        raise UserError(f"{path}: {user} is nobody's home folder here; name it in full") from error


folder_option = partial(typer.Option, callback=expanded)

DataDir = Annotated[
    Path | None,
    folder_option(help="Folder of the datasets; else $BISON_OCL_DATA, else ~/.cache/bison-ocl."),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"], typer.Option(help="auto: a GPU if there is one.")
]
Precision = Annotated[
    Literal["tf32", "bf16", "fp32"], typer.Option(help="Numbers of the convolutions.")
]
Compiling = Annotated[
    bool, typer.Option("--compile", help="On a GPU, compile steps: a minute, kept for later.")
]
Track = Annotated[
    str | None, typer.Option(help="Show finished runs in tensorboard[:FOLDER] or mlflow[:URI] too.")
]
CheckpointEvery = Annotated[float, typer.Option(help="Seconds between checkpoints.")]
ImageSize = Annotated[int | None, typer.Option(help="folder:PATH: side of the images.")]
Tasks = Annotated[int | None, typer.Option(help="folder:PATH: tasks to cut it into.")]
HeldOut = Annotated[float | None, typer.Option(help="folder:PATH: share kept for testing.")]


def chosen_device(name: str) -> str:
    """cuda where there is one, unless the user says otherwise."""
    import torch

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

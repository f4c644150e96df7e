"""Options that several commands share, and their checks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bison_ocl.cli.process.output import tell
from bison_ocl.errors import UserError


def expanded(path: Path | None) -> Path | None:
    """A folder with ~ expanded; a shell does not expand `--out=~/runs`."""
    try:
        return path.expanduser() if path else path
    except RuntimeError as error:
        user = path.parts[0] if path else ""
        raise UserError(f"{path}: no home folder for {user}; give the full path") from error


folder_option = partial(typer.Option, callback=expanded)

DataDir = Annotated[
    Path | None,
    folder_option(help="Folder of the datasets (default: $BISON_OCL_DATA, or ~/.cache/bison-ocl)."),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"],
    typer.Option(help="Device to train on; auto uses a GPU if available."),
]
Precision = Annotated[
    Literal["tf32", "bf16", "fp32"],
    typer.Option(
        help="Precision of convolutions (CPU: bf16 or fp32), with bf16 also of the images between "
        "layers; the rest is float32."
    ),
]
Compiling = Annotated[
    bool,
    typer.Option("--compile", help="Compile steps on a GPU: takes about a minute, then cached."),
]
Track = Annotated[
    str | None,
    typer.Option(
        help="Log runs while they train: tensorboard[:FOLDER], mlflow[:URI] or wandb[:FOLDER]."
    ),
]
CheckpointEvery = Annotated[float, typer.Option(help="Write a checkpoint every N seconds.")]
ImageSize = Annotated[
    int | None, typer.Option(help="folder:PATH only: side of the images in pixels (default: 32).")
]
Tasks = Annotated[
    int | None,
    typer.Option(
        help="folder:PATH only: number of tasks (default: the most up to 5 that divides the "
        "classes, else 5, of which the first have one class more)."
    ),
]
HeldOut = Annotated[
    float | None,
    typer.Option(help="folder:PATH only: fraction of images held out for testing (default: 0.2)."),
]
Validate = Annotated[
    float | None,
    typer.Option(
        help="Hold out this share of each task's training images, such as 0.1, and score on them "
        "instead of the test images (default: none)."
    ),
]


def chosen_device(name: str) -> str:
    """The device for a `--device` choice; auto is cuda if torch finds a GPU."""
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no GPU here; use --device cpu")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"


def advise_on_precision(device: str, precision: str) -> None:
    """Say that float32 is faster on a processor without instructions for bfloat16."""
    from bison_ocl.processor import computes_bfloat16

    if device == "cpu" and precision == "bf16" and not computes_bfloat16():
        tell("this processor has no bfloat16 instructions: --precision fp32 is faster")


def data_options(
    image_size: int | None = None,
    tasks: int | None = None,
    held_out: float | None = None,
    validate: float | None = None,
) -> dict[str, Any]:
    """The given options of a dataset; all but `validate` are for a folder of images."""
    given = {"image_size": image_size, "tasks": tasks, "held_out": held_out, "validate": validate}
    return {name: value for name, value in given.items() if value is not None}


def check_positive(**options: float | None) -> None:
    """Refuse options that are not above 0."""
    for name, value in options.items():
        if value is not None and not value > 0:
            raise UserError(f"--{name.replace('_', '-')} {value:g}: expected a number above 0")


def parts(option: str, text: str | None) -> list[str]:
    """`er,bison` as a list; empty if the option is not given."""
    if text is None:
        return []
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise UserError(f"--{option} is empty: omit the option for all")
    return found


def whole_number(option: str, text: str) -> int:
    if not text.isdecimal():
        raise UserError(f"--{option} {text}: expected whole numbers, 0 or more, such as 200,500")
    return int(text)

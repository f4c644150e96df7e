"""`export`: write a saved learner as a model that runs without this package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bison_ocl.cli.learner.loading import Factory, MethodFile, loader
from bison_ocl.cli.options import expanded


def export(
    file: Annotated[Path, typer.Argument(callback=expanded, help="File of a saved learner.")],
    out: Annotated[
        Path, typer.Argument(callback=expanded, help="Model to write: name.onnx or name.pt2.")
    ],
    input: Annotated[
        Literal["uint8", "float32"],
        typer.Option(help="Type of the model's images: bytes, or floats in [0, 1]."),
    ] = "uint8",
    method: MethodFile = None,
    backbone: Factory = None,
) -> None:
    """Export a saved learner to ONNX or torch.export.

    The model file also holds the class names.
    """
    from bison_ocl.learner.export.write import checked

    checked(out, input)
    learner = loader(method, backbone)(file)
    learner.export(out, input)
    print(f"wrote {out}: {len(learner.labels)} classes, images as {input} [B, 3, H, W]")

"""`export`: write a saved learner as a model that runs without this package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bison_ocl.cli.options import MethodFile, expanded


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
) -> None:
    """Export a saved learner to ONNX or torch.export, with its class names inside."""
    from bison_ocl.learner.export.write import checked
    from bison_ocl.learner.learner import Learner
    from bison_ocl.methods import method_class

    checked(out, input)
    learner = Learner.load(file, method=method_class(method) if method else None)
    learner.export(out, input)
    print(f"wrote {out}: {len(learner.labels)} classes, images as {input} [B, 3, H, W]")

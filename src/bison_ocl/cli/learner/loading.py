"""Load a saved learner with the code that its file does not hold: method and backbone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bison_ocl.learner.learner import Learner

MethodFile = Annotated[
    str | None,
    typer.Option(help="File of a method from outside the package, path/to/mine.py:Mine."),
]
Factory = Annotated[
    str | None,
    typer.Option(help="Backbone that the learner was made with: package.module:factory."),
]


def loader(
    method: str | None, backbone: str | None, device: str = "cpu"
) -> Callable[[Path], Learner]:
    """`Learner.load` with what the user names."""
    from bison_ocl.experiments.train.backbones import module_of
    from bison_ocl.learner.learner import Learner
    from bison_ocl.methods import method_class

    return partial(
        Learner.load,
        method=method_class(method) if method else None,
        backbone=module_of(backbone, seed=0) if backbone else None,
        device=device,
    )

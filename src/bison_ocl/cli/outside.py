"""`new` and `check`: write and check your own method in a file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from bison_ocl.cli.process.fail import fail
from bison_ocl.errors import UserError, reason


def new(
    path: Annotated[Path, typer.Argument(help="File to write, such as mine.py.")],
) -> None:
    """Write a commented template of a method."""
    from bison_ocl import contract

    name = "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", path.stem))
    if path.suffix != ".py" or not name.isidentifier():
        raise UserError(f"{path}: expected a file name such as mine.py")
    template = Path(contract.__path__[0]) / "template.py"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template.read_text("utf-8").replace("Mine", name))
    except FileExistsError as error:
        raise UserError(f"{path} already exists: choose another name") from error
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}; choose another path") from error
    print(f"wrote {path}; next: bison-ocl check {shlex.quote(f'{path}:{name}')}")


def check(
    method: Annotated[str, typer.Argument(help="Method to check, such as path/to/mine.py:Mine.")],
) -> None:
    """Check a method against the contract of all methods.

    Takes up to a minute.
    """
    from bison_ocl.contract.checks import results
    from bison_ocl.methods import method_class

    found = method_class(method)
    broken = 0
    for promise, fault in results(found()):
        broken += fault is not None
        print(f"holds   {promise}" if fault is None else f"BROKEN  {promise}: {fault}", flush=True)
    if broken:
        fail(f"{method} fails {broken} of the checks above", 1)
    print(f"next: bison-ocl run {shlex.quote(method)} --data split-digits --memory 100")

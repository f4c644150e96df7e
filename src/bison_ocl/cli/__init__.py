"""The command `bison-ocl`. Heavy imports wait until a command computes something."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from bison_ocl.cli import data, listings, report, reproduce, rerun, run
from bison_ocl.cli.fail import fail
from bison_ocl.errors import UserError

app = typer.Typer(
    help="Online class-incremental learning: BISON and the methods it is compared with.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    *(listings.methods, listings.datasets, listings.streams),
    *(run.run, reproduce.reproduce, rerun.rerun, report.report, report.demo),
):
    app.command()(command)
app.add_typer(data.app, name="data")

STOPPED = 130
"""The status after Ctrl-C."""


def main() -> None:
    """Run the command; bad input ends in one line and status 2."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, TextIOWrapper):
            output.reconfigure(errors="replace")  # where there is no dash, show a question mark
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
            "stopped; what is finished is kept: the same command goes on, `run` with --resume",
            STOPPED,
        )
    sys.exit(status if isinstance(status, int) else 0)


def show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"bison-ocl {version('bison-ocl')}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Online class-incremental learning: BISON and the methods it is compared with."""

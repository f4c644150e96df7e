"""The commands of `bison-ocl`; each imports heavy packages only when it computes."""

from __future__ import annotations

from typing import Annotated

import typer

from bison_ocl.cli import data, outside, report, reproduce, rerun, run
from bison_ocl.cli.catalogue import commands
from bison_ocl.cli.learner import export, memory, serve

app = typer.Typer(
    help="Online class-incremental learning: BISON and its baselines.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    *(commands.methods, commands.datasets, commands.streams),
    *(outside.new, outside.check),
    *(run.run, reproduce.reproduce, rerun.rerun, report.report, report.demo),
    *(export.export, memory.memory, serve.serve),
):
    app.command()(command)
app.add_typer(data.app, name="data")


def show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        from bison_ocl.experiments.records.commit import commit

        known = commit()
        print(f"bison-ocl {version('bison-ocl')}" + (f", commit {known}" if known else ""))
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Online class-incremental learning: BISON and its baselines."""

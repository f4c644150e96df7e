"""`report` and `demo`: compare results with the paper."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bison_ocl.cli.options import folder_option, parts
from bison_ocl.errors import UserError

if TYPE_CHECKING:
    from bison_ocl.experiments.records.record import Record
    from bison_ocl.report.study.entry import Entry


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(help="Result files, or folders with results.jsonl or other *.jsonl files."),
    ],
    out: Annotated[
        Path | None,
        folder_option(help="Folder for the report (default: that of the first results)."),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page/--no-page", help="Write the interactive report.html (5 MB).")
    ] = True,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            help="Write tables and figures in this format only: tex, csv, png, svg or pdf; repeat "
            "for several (default: all). RESULTS.md shows the PNG figures.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Show these methods only, such as er,bison,mine.py:Mine (default: all). A method "
            "given by its file has the look that the file declares."
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            min=2, max=40, help="Width of figures in inches (default: 4.8 per column, up to 14.4)."
        ),
    ] = None,
) -> None:
    """Compare results: tables, figures, RESULTS.md and report.html.

    Comparable runs appear beside the paper's numbers.
    """
    from bison_ocl.methods import registered_name

    write_and_show(
        *folders,
        out=out,
        with_page=page,
        formats=formats,
        methods=[registered_name(method) for method in parts("methods", methods)],
        width=width,
    )


def write_and_show(
    *folders: Path,
    out: Path | None = None,
    items: Sequence[str] = (),
    with_page: bool = True,
    formats: Sequence[str] | None = None,
    methods: Sequence[str] = (),
    width: float | None = None,
) -> None:
    """Write the report of folders and print the tables of the given items, or of all."""
    from bison_ocl.experiments.terminal.show import say
    from bison_ocl.report.formats.text import show
    from bison_ocl.report.write import FORMATS, write

    if unknown := set(formats or ()) - set(FORMATS):
        raise UserError(f"--format {unknown.pop()!r}: give one of {', '.join(FORMATS)}")
    written = write(
        *folders,
        out=out,
        with_page=with_page,
        formats=formats or FORMATS,
        methods=methods,
        width=width,
    )
    show(table for item in items or written.tables for table in written.tables[item])
    for warning in written.warnings:
        say(f"note: {warning}")
    interactive = f"report: {written.page}; for" if written.page else "report: for"
    print(f"{interactive} reading and printing: {written.results}")


def show_runs(out: Path, found: Sequence[Record], others: Sequence[Record]) -> list[Entry]:
    """Print the table of some runs, with AI from FINE-TUNE among the others; its entries."""
    from bison_ocl.experiments.terminal.show import say
    from bison_ocl.report.formats.text import show
    from bison_ocl.report.study.entry import prepared
    from bison_ocl.report.study.study import doubts
    from bison_ocl.report.tables.layouts import overview

    entries, name = prepared(found, others=others), out.resolve().name
    show(overview(name, entries))
    for doubt in doubts(name, entries):
        say(doubt)
    if any(entry.reference is None for entry in entries):
        say("AI needs FINE-TUNE on the same seeds: repeat the command with --with-reference")
    say(f"for figures and a page: bison-ocl report {shlex.quote(str(out))}")
    return entries


def demo(
    out: Annotated[Path, folder_option(help="Folder for results and report.")] = Path("demo"),
    seeds: Annotated[str, typer.Option(help="Seeds, such as 0-4.")] = "0",
) -> None:
    """Compare FINE-TUNE, ER and BISON on embedded digits.

    Takes about a minute.
    """
    from bison_ocl.experiments.records.spec import parse_seeds

    asked = parse_seeds(seeds)
    from bison_ocl.experiments.demo import train_all
    from bison_ocl.report.formats.text import show
    from bison_ocl.report.write import write

    train_all(out, asked)
    written = write(out)
    show(table for tables in written.tables.values() for table in tables)
    print(f"report: {written.page}")

"""The whole report of results: tables, figures, RESULTS.md and report.html."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bison_ocl.experiments.terminal.bar import say
from bison_ocl.files.durable import check_writable, write_atomically
from bison_ocl.report import figures, page
from bison_ocl.report.formats.csv import comma_separated
from bison_ocl.report.formats.latex import latex
from bison_ocl.report.formats.markdown import markdown
from bison_ocl.report.formats.results_page import summary
from bison_ocl.report.formats.text import text
from bison_ocl.report.study.study import load
from bison_ocl.report.tables.cells import Table
from bison_ocl.report.tables.layouts import tables

FORMATS = {"txt": text, "md": markdown, "tex": latex, "csv": comma_separated}


@dataclass(frozen=True)
class Written:
    """What a report consists of."""

    page: Path | None
    results: Path
    tables: dict[str, list[Table]]
    """by item"""
    warnings: list[str]


def write(
    *results: Path,
    out: Path | None = None,
    say: Callable[[str], None] = say,
    with_page: bool = True,
) -> Written:
    """Read the records of folders, or of files, and write all there is to show about them.

    out: else the first folder itself; say: is told which figures there cannot be, and why.
    """
    study = load(*results)
    place = out or (results[0] if results[0].is_dir() else results[0].parent)
    check_writable(place)
    made = {item: tables(item, records) for item, records in study.items.items()}
    write_tables(made, place / "tables")
    saved = figures.save_all(study, place / "figures")
    for reason in chain.from_iterable(one.missing for one in saved.values()):
        say(reason)
    interactive = place / "report.html" if with_page else None
    if interactive:
        page.write(study, interactive)
    words = summary(study, made, saved, place, with_page)
    write_atomically(place / "RESULTS.md", words.encode())
    return Written(interactive, place / "RESULTS.md", made, study.warnings)


def write_tables(made: Mapping[str, Sequence[Table]], folder: Path) -> None:
    """Every table in every format."""
    for table in chain.from_iterable(made.values()):
        for ending, render in FORMATS.items():
            write_atomically(folder / f"{table.name}.{ending}", render(table).encode())

"""The whole report of results: tables, figures, RESULTS.md and report.html."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bison_ocl.experiments.terminal.bar import say
from bison_ocl.files.durable import check_writable, write_atomically
from bison_ocl.report import figures, page
from bison_ocl.report.formats.csv import comma_separated
from bison_ocl.report.formats.latex import latex
from bison_ocl.report.formats.results_page import summary
from bison_ocl.report.study.study import load
from bison_ocl.report.tables.cells import Table
from bison_ocl.report.tables.layouts import tables

TABLES = {"tex": latex, "csv": comma_separated}
FORMATS = (*TABLES, *figures.KINDS)
"""of tables, then of figures; RESULTS.md shows PNG"""


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
    formats: Collection[str] = FORMATS,
) -> Written:
    """Read the records of folders, or of files, and write all there is to show about them.

    out: else the first folder itself; say: is told which figures there cannot be, and why.
    """
    study = load(*results)
    place = out or (results[0] if results[0].is_dir() else results[0].parent)
    check_writable(place)
    made = {item: tables(item, records) for item, records in study.items.items()}
    for table in chain.from_iterable(made.values()):
        for ending in TABLES.keys() & set(formats):
            file = place / "tables" / f"{table.name}.{ending}"
            write_atomically(file, TABLES[ending](table).encode())
    saved = figures.save_all(study, place / "figures", formats)
    for reason in chain.from_iterable(one.missing for one in saved.values()):
        say(reason)
    interactive = place / "report.html" if with_page else None
    if interactive:
        page.write(study, interactive)
    words = summary(study, made, saved, place, with_page, formats)
    write_atomically(place / "RESULTS.md", words.encode())
    return Written(interactive, place / "RESULTS.md", made, study.warnings)

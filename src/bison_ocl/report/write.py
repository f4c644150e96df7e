"""The whole report of results: tables, figures, RESULTS.md and report.html."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bison_ocl.experiments.terminal.show import say
from bison_ocl.files.durable import check_writable, write_atomically
from bison_ocl.report import figures, page
from bison_ocl.report.formats.csv import comma_separated
from bison_ocl.report.formats.latex import latex
from bison_ocl.report.formats.results_page import results_page
from bison_ocl.report.study.study import load
from bison_ocl.report.tables.layouts import tables_of
from bison_ocl.report.tables.table import Table

TABLES = {"tex": latex, "csv": comma_separated}
FORMATS = (*TABLES, *figures.KINDS)
"""of tables, then of figures; RESULTS.md shows PNG"""


@dataclass(frozen=True)
class Written:
    """The parts of a report."""

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
    methods: Collection[str] = (),
    width: float | None = None,
) -> Written:
    """Read the records of folders or files and write their report.

    out: a folder, by default the first one of the results; say: receives the reason for each
    missing figure; methods: to show, by default all; width: of figures, in inches.
    """
    study = load(*results, methods=methods)
    place = out or (results[0] if results[0].is_dir() else results[0].parent)
    check_writable(place)
    tables = {item: tables_of(item, records) for item, records in study.items.items()}
    for table in chain.from_iterable(tables.values()):
        for ending in TABLES.keys() & set(formats):
            file = place / "tables" / f"{table.name}.{ending}"
            write_atomically(file, TABLES[ending](table).encode())
    saved = figures.save_all(study, place / "figures", formats, width)
    for reason in chain.from_iterable(one.missing for one in saved.values()):
        say(reason)
    interactive = place / "report.html" if with_page else None
    if interactive:
        page.write(study, interactive)
    text = results_page(study, tables, saved, place, with_page, formats)
    write_atomically(place / "RESULTS.md", text.encode())
    return Written(interactive, place / "RESULTS.md", tables, study.warnings)

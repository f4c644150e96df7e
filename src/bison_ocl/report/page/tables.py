"""The tables of the page: those of the report at one place, and one line per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bison_ocl.report.figures.panels import Line, Panel
from bison_ocl.report.formats.wording import headed, legend, shown
from bison_ocl.report.page.plain import Contents, Pool, plain
from bison_ocl.report.study import measures
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.measures import Measure
from bison_ocl.report.study.study import plural, short
from bison_ocl.report.tables.cells import Table

METRICS = (*measures.METRICS, measures.A_AUC)
COSTS = (
    *(measures.TOTAL, measures.TRAIN, measures.TEST, measures.STEP),
    *(measures.PARAMETERS, measures.PEAK),
)
POOLS = ("settings", "orders", "origins")
"""what many runs share"""
RANKS, SIZES = "bold: best, underlined: runner-up", ("green", "amber", "red")


def at_place(table: Table, panel: Panel) -> Contents:
    """The columns of a table at the place of a panel, and the lines that were run there."""
    here = table.only([n for n, column in enumerate(table.columns) if column.place == panel.place])
    by_title = {line.title: line for line in panel.lines}
    run = tuple(line for line in here.lines if any(cell.ours for cell in line.cells))
    part = replace(here, lines=run, category="")
    return {
        "caption": panel.title,
        "columns": [{"title": part.heading}, *columns(part)],
        "lines": [
            {
                **named(by_title[line.label.text]),
                "cells": plain(list(shown(part, line, range(len(part.columns))))),
            }
            for line in part.lines
        ],
        "notes": legend(part, RANKS, SIZES),
    }


def columns(table: Table) -> list[Contents]:
    """The headings of numbers; ours and the paper's are headed together by the measure."""
    found: list[Contents] = []
    for number, column in enumerate(table.columns):
        title, what = headed(column), column.measure.what
        if table.compared(number):
            found += [{"title": one, "group": title} for one in ("ours", "paper", "Δ")]
            found[-3]["what"] = what
        else:
            found.append({"title": title, "what": what})
    return found


def named(line: Line) -> Contents:
    """A line of the panel: its name, its look, and the box that switches it."""
    return {"name": line.title, "method": line.group.method, "look": plain(line.look)}


# --- runs ---


def run_table(panel: Panel, pools: Mapping[str, Pool]) -> Contents:
    """Every run in a line, and what opens with it."""
    runs = [(line, record) for line in panel.lines for record in line.group.records]
    known = [
        measure
        for measure in (*METRICS, *COSTS)
        if any(measure.of(record) is not None for _, record in runs)
    ]
    return {
        "caption": f"{plural(len(runs), 'run')}, {panel.title.rpartition(', ')[0]}",
        "columns": [
            {"title": "method"},
            {"title": "seed"},
            *(
                {"title": with_unit(one), "what": one.what, "decimals": one.decimals}
                for one in known
            ),
            {"title": "machine", "words": True},
            {"title": "commit", "words": True},
        ],
        "lines": [run(line, record, known, pools) for line, record in runs],
        "notes": [],
    }


def with_unit(measure: Measure) -> str:
    return measure.label + (f" ({measure.unit})" if measure.unit not in ("%", "") else "")


def run(line: Line, record: Entry, known: Sequence[Measure], pools: Mapping[str, Pool]) -> Contents:
    """One run: its numbers, its accuracies, its settings and where it was made."""
    origin = {
        "precision": record.precision,
        **vars(record.environment),
        "commit": record.commit,
        "data": record.data,
        "stream": record.stream,
        **record.data_options,
        "test images, SHA-256": record.data_sha256,
    }
    numbers = [plain(measure.of(record)) for measure in known]
    commit = short(record.commit or "unknown")
    return {
        "name": line.title,
        "method": line.group.method,
        "cells": [record.seed, *numbers, record.environment.device, commit],
        "run": f"{line.group.place.memory}-{line.title}-{record.seed}",
        "accuracy": [trimmed(row) for row in record.accuracy],
        "settings": pools["settings"].place(record.settings),
        "order": pools["orders"].place(record.class_order),
        "origin": pools["origins"].place(plain(origin)),
    }


def trimmed(row: Sequence[float]) -> list[float]:
    """Accuracies in percent without the zeros at the end, which stand for tasks to come."""
    last = max((place for place, value in enumerate(row, 1) if value), default=0)
    return [round(100 * value, 1) for value in row[:last]]

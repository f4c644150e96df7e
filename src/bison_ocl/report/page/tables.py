"""The tables of the page: those of the report at one place, one line per run, numbers of curves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bison_ocl.errors import plural
from bison_ocl.look import Look
from bison_ocl.report.figures.chart import Chart
from bison_ocl.report.figures.panels import Panel
from bison_ocl.report.formats.wording import Shown, block, legend
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment
from bison_ocl.report.study.measures import Measure, plus_minus, with_unit
from bison_ocl.report.study.study import short
from bison_ocl.report.tables.table import Table

RANKS, SIZES = "bold: best, underlined: runner-up", ("green", "amber", "red")
MOST_NUMBERS = 25
"""columns of a table below curves"""


@dataclass(frozen=True)
class Line:
    """A line of a table, switched on and off by the box of its method."""

    method: str
    look: Look
    cells: list[Shown]
    """the first one is its name"""


@dataclass(frozen=True)
class PageTable:
    """A table of the page."""

    caption: str
    head: list[str]
    lines: Sequence[Line] = ()
    notes: Sequence[str] = ()
    runs: range | None = None
    """of the details, whose lines the page makes when they are first shown"""


def at_place(table: Table, panel: Panel) -> PageTable:
    """The columns of a table at the place of a panel, and the rows that were run there."""
    here = table.only([n for n, column in enumerate(table.columns) if column.place == panel.place])
    run = [row for row in here.rows if any(cell.ours for cell in row.cells)]
    rows = tuple(replace(row, label=replace(row.label, category="")) for row in run)
    here = replace(here, rows=rows)
    shown = block(here, panel.title, range(len(here.columns)))
    by_title = {one.title: one for one in panel.lines}
    lines = [
        Line(one.method, one.look, cells)
        for row, cells in shown.rows
        for one in [by_title[row.label.text]]
    ]
    notes = legend(here, RANKS, SIZES)
    return PageTable(panel.title, shown.head, lines, notes)


def numbers_of(chart: Chart) -> PageTable | None:
    """The numbers of curves, as a table below them; none where they are too many."""
    curves = [one for one in chart.series if one.kind == "curve" and one.hover]
    places = list(dict.fromkeys(x for one in curves for x in one.x))
    if not curves or len(places) > MOST_NUMBERS:
        return None
    lines = []
    for one in curves:
        texts = dict(zip(one.x, one.hover, strict=True))
        cells = [Shown(one.name), *(Shown(texts.get(at, "")) for at in places)]
        lines.append(Line(one.method, one.look, cells))
    return PageTable(chart.x.label, ["method", *(f"{at:g}" for at in places)], lines)


# --- runs ---


class Details:
    """The lines of runs and what opens with them; values that many runs share are kept once."""

    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.shared: list[Any] = []
        self._places: dict[str, int] = {}

    def share(self, value: Any) -> int:
        """The place of a value among those that are shared."""
        place = self._places.setdefault(json.dumps(value), len(self.shared))
        if place == len(self.shared):
            self.shared.append(value)
        return place

    def add(self, one: Experiment, record: Entry, cells: list[str], place: Any) -> None:
        """A run: its line, its settings, its accuracies and its provenance."""
        origin = {
            "precision": record.precision,
            **vars(record.environment),
            "commit": record.commit,
            "data": record.data,
            "stream": record.stream,
            **record.data_options,
            "test images, SHA-256": record.data_sha256,
        }
        self.runs.append(
            {
                "place": self.share(place),
                "method": one.method,
                "cells": cells,
                "accuracy": [trimmed(row) for row in record.accuracy],
                "settings": self.share(record.settings),
                "order": self.share(record.class_order),
                "origin": self.share(origin),
            }
        )


def run_table(panel: Panel, known: Sequence[Measure], details: Details) -> PageTable:
    """One line per run, with the measures that some run has."""
    runs = [(one, record) for one in panel.lines for record in one.records]
    shown = [measure for measure in known if any(measure.of(run) is not None for _, run in runs)]
    first = len(details.runs)
    head = ["method", "seed", *map(with_unit, shown), "machine", "commit"]
    place = {"item": panel.lines[0].item, "where": panel.where, "head": head}
    for one, record in runs:
        numbers = [(measure.of(record), measure.decimals) for measure in shown]
        cells = [
            one.title,
            str(record.seed),
            *("" if value is None else plus_minus(value, None, n) for value, n in numbers),
            record.environment.device,
            short(record.commit or "unknown"),
        ]
        details.add(one, record, cells, place)
    caption = f"{plural(len(runs), 'run')}, {panel.where}"
    return PageTable(caption, head, runs=range(first, len(details.runs)))


def trimmed(row: Sequence[float]) -> list[float]:
    """Accuracies in percent without the zeros at the end, which belong to tasks to come."""
    last = max((place for place, value in enumerate(row, 1) if value), default=0)
    return [round(100 * value, 1) for value in row[:last]]

"""What the report page shows: every number once, rounded, ready for JSON.

The scripts beside this file read it. A row is one experiment over its seeds, as in the tables.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.look import Look
from bison_ocl.report.figures.drawing.panels import panels
from bison_ocl.report.figures.drawing.style import look
from bison_ocl.report.page.row import COSTS, METRICS, Contents, figures, rounded
from bison_ocl.report.study import names
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Group, grouped
from bison_ocl.report.study.intransigence import same_stream
from bison_ocl.report.study.labels import label_of
from bison_ocl.report.study.paper import printed
from bison_ocl.report.study.places import place_of
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables import cells
from bison_ocl.report.tables.build import title_of
from bison_ocl.report.tables.cells import Label
from bison_ocl.report.tables.marks import against
from bison_ocl.stream.streams import DEFAULT

SYMBOLS = {
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "D": "diamond",
    "d": "diamond-tall",
    "P": "cross",
    "X": "x",
    "p": "pentagon",
    "h": "hexagon",
    (5, 1, 0): "star",
    (6, 1, 0): "hexagram",
    (3, 1, 0): "star-triangle-up",
    (4, 1, 0): "star-diamond",
}
"""matplotlib's markers as Plotly calls them"""
DASHES = {"-": "solid", "--": "dash", ":": "dot"}


class Pool:
    """Values that many runs share, each kept once and named by its place."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, value: Any) -> int:
        key = json.dumps(value)
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(value)
        return self._places[key]


def contents(study: Study) -> Contents:
    """The whole study as one object."""
    pools = {name: Pool() for name in ("places", "settings", "orders", "origins")}
    items = [item(name, records, pools) for name, records in study.items.items()]
    methods = {row["method"]: None for one in items for row in one["rows"]}
    return {
        "warnings": study.warnings,
        "metrics": [[one.name, one.label, one.better] for one in METRICS],
        "costs": [[one.name, one.label, one.unit] for one in COSTS],
        "distances": [cells.CLOSE, cells.NEAR],
        "level": cells.LEVEL,
        "stream": DEFAULT,
        "methods": {
            name: {"name": names.method_name(name), **drawn(look(name))} for name in methods
        },
        "items": items,
        **{name: pool.values for name, pool in pools.items()},
    }


def item(name: str, records: Sequence[Entry], pools: dict[str, Pool]) -> Contents:
    """An item and its rows, in order of appearance."""
    groups = grouped(records)
    labels = [label_of(name)(group.first) for group in groups]
    looks = {
        without_memory(line.group.first): line.look
        for panel in panels(records, label_of(name))
        for line in panel.lines
    }
    rows = [
        {**row(name, group, label, pools), **drawn(looks[without_memory(group.first)])}
        for group, label in zip(groups, labels, strict=True)
    ]
    for one, variant in zip(rows, variants(groups), strict=True):
        one["variant"] = variant
    mark(rows, groups, labels)
    return {"name": name, "title": title_of(name), "rows": rows}


def without_memory(record: Entry) -> str:
    """An experiment; FINE-TUNE's keeps no memory, whichever it stands beside."""
    return (replace(record, memory=0) if record.method == REFERENCE else record).experiment


def row(item: str, group: Group, label: Label, pools: dict[str, Pool]) -> Contents:
    """An experiment: what it is, what its runs come to, and the runs."""
    first = group.first
    found = {
        "name": label.text,
        "method": first.method,
        "place": pools["places"].place(place(first)),
        "memory": first.memory,
        "settings": pools["settings"].place(first.settings),
        "paper": paper(item, label, first),
        **figures(group.records),
        "runs": [run(record, pools) for record in group.records],
    }
    return {key: value for key, value in found.items() if value is not None}


def place(record: Entry) -> Contents:
    """A dataset, how it was cut and streamed: what can be compared stands in one place."""
    return {
        "name": names.stream_name(record),
        "data": record.data,
        "stream": record.stream,
        "options": record.data_options,
        "classes": [
            names.class_name(record.data, label) for label in range(len(record.class_order))
        ],
    }


def paper(item: str, label: Label, record: Entry) -> Contents | None:
    """What the paper prints for a row, mean and deviation."""
    found = {one.name: printed(item, one.name, label.printed, place_of(record)) for one in METRICS}
    return {name: [number.mean, number.std] for name, number in found.items() if number} or None


def run(record: Entry, pools: dict[str, Pool]) -> Contents:
    """One run: its numbers, and where they come from."""
    origin = {
        "commit": record.commit,
        "precision": record.precision,
        **vars(record.environment),
        "data_sha256": record.data_sha256,
    }
    return {
        "seed": record.seed,
        "metrics": [rounded(measure.of(record)) for measure in METRICS],
        "costs": [rounded(measure.of(record)) for measure in COSTS],
        "order": pools["orders"].place(record.class_order),
        "origin": pools["origins"].place(origin),
        "accuracy": [trimmed(line) for line in record.accuracy],
    }


def trimmed(line: Sequence[float]) -> list[float | None]:
    """Accuracies in percent without the zeros at the end, which stand for tasks to come."""
    last = max((place for place, value in enumerate(line, 1) if value), default=0)
    return [rounded(100 * value, 2) for value in line[:last]]


def drawn(one: Look) -> Contents:
    """How Plotly draws what matplotlib draws."""
    return {
        "colour": one.colour,
        "symbol": SYMBOLS[one.marker] + ("-open" if one.hollow else ""),
        "dash": DASHES[one.dashes],
        "width": one.width,
    }


# --- rows beside each other ---


def variants(groups: Sequence[Group]) -> list[Contents]:
    """For each row, the settings in which it differs from others of its method and stream."""
    choices = [{**group.first.settings, "precision": group.first.precision} for group in groups]
    kinds = [(group.method, *place_of(group.first)[:3]) for group in groups]
    found = []
    for kind, chosen in zip(kinds, choices, strict=True):
        others = [other for other, its in zip(choices, kinds, strict=True) if its == kind]
        differs = [key for key in chosen if any(o.get(key) != chosen[key] for o in others)]
        found.append({key: chosen[key] for key in differs})
    return found


def mark(rows: Sequence[Contents], groups: Sequence[Group], labels: Sequence[Label]) -> None:
    """Note in which metrics a row differs from the main one of its place, as the tables do."""
    places: dict[tuple[int, int], list[int]] = {}
    for number, one in enumerate(rows):
        if not labels[number].reference:
            places.setdefault((one["place"], one["memory"]), []).append(number)
    for numbers in places.values():
        main = next((number for number in numbers if labels[number].main), None)
        if main is None:
            continue
        rows[main]["main"] = True
        others = [number for number in numbers if number != main]
        for metric in (one.name for one in METRICS):
            found = [values(groups[number], metric) for number in others]
            for number, p in zip(others, against(values(groups[main], metric), found), strict=True):
                if p is not None and p < cells.LEVEL:
                    rows[number].setdefault("differs", []).append(metric)


def values(group: Group, metric: str) -> dict[Any, float]:
    """A metric by stream and seed, of the runs that have it."""
    found = {same_stream(record): getattr(record.metrics, metric) for record in group.records}
    return {stream: value for stream, value in found.items() if value is not None}

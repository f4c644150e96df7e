"""What the report page shows: every number once, rounded, ready for JSON.

`page.js` reads it. A row is one method in one cell over its seeds, as in the tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bison_ocl.evaluate.metrics import accuracy_curve, spread
from bison_ocl.experiments.intransigence import REFERENCE
from bison_ocl.experiments.paper import ITEMS
from bison_ocl.experiments.records import Record
from bison_ocl.report import cells, measures, names, paper
from bison_ocl.report.build import LabelOf, labelled, printed_in, title_of
from bison_ocl.report.cells import Column, Label
from bison_ocl.report.figures.groups import grouped
from bison_ocl.report.figures.panels import panels
from bison_ocl.report.figures.style import Look, look
from bison_ocl.report.folder import IDENTITY, Study
from bison_ocl.report.layouts import direction, parts
from bison_ocl.report.measures import Measure
from bison_ocl.report.places import place_of
from bison_ocl.stream.streams import DEFAULT

METRICS = (*measures.METRICS, measures.A_AUC)
COSTS = (
    *(measures.TOTAL, measures.TRAIN, measures.TEST, measures.STEP),
    *(measures.PARAMETERS, measures.PEAK),
)
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
LABELS: dict[str, LabelOf] = {"ablation": parts, "directions": direction}
"""items whose tables call their lines by something else than the method"""

Contents = dict[str, Any]


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
        "stream": DEFAULT,
        "methods": {
            name: {"name": names.method_name(name), **drawn(look(name))} for name in methods
        },
        "items": items,
        **{name: pool.values for name, pool in pools.items()},
    }


def item(name: str, records: Sequence[Record], pools: dict[str, Pool]) -> Contents:
    """An item and its rows, in order of appearance."""
    label_of = partial(label_in, name)
    looks = {
        cell_of(line.group.first): line.look
        for panel in panels(records, label_of)
        for line in panel.lines
    }
    groups = [group.records for group in grouped(records)]
    found = [
        {**row(name, group, pools), **drawn(looks[cell_of(group[0])]), "variant": variant}
        for group, variant in zip(groups, variants(groups), strict=True)
    ]
    tell_apart(found)
    return {"name": name, "title": title_of(name), "rows": found}


def cell_of(record: Record) -> str:
    """What the runs of a row share; FINE-TUNE's have no memory, whatever they stand beside."""
    memory = 0 if record["method"] == REFERENCE else record["memory"]
    rest = [record.get(name) for name in IDENTITY if name not in ("memory", "seed")]
    return json.dumps([memory, *rest], sort_keys=True)


def tell_apart(rows: Sequence[Contents]) -> None:
    """Add to names that rows of one place share what these rows differ in."""
    keys = [(row["name"], row["place"], row["memory"]) for row in rows]
    for row, key in zip(rows, keys, strict=True):
        if keys.count(key) > 1:
            changed = ", ".join(f"{k}={names.as_set(v)}" for k, v in row["variant"].items())
            row["name"] = f"{row['name']} [{changed}]"


def drawn(one: Look) -> Contents:
    """How Plotly draws what matplotlib draws."""
    return {
        "colour": one.colour,
        "symbol": SYMBOLS[one.marker] + ("-open" if one.hollow else ""),
        "dash": DASHES[one.dashes],
        "width": one.width,
    }


def row(item: str, group: Sequence[Record], pools: dict[str, Pool]) -> Contents:
    """The runs of a cell, and what they come to."""
    first = group[0]
    label = label_in(item, first)
    found = {
        "name": label.text,
        "method": first["method"],
        "place": pools["places"].place(place(first)),
        "memory": first["memory"],
        "settings": pools["settings"].place(first["settings"]),
        "metrics": metrics(group),
        "paper": printed(item, label, first),
        "curve": curve(group),
        "log": log(group),
        "confusion": confusion(group),
        "losses": losses(group),
        "costs": summaries(group, COSTS),
        "runs": [run(record, pools) for record in group],
    }
    return {key: value for key, value in found.items() if value is not None}


def place(record: Record) -> Contents:
    """A dataset, how it was cut and streamed: what can be compared stands in one place."""
    return {
        "name": names.stream_name(record),
        "data": record["data"],
        "stream": record["stream"],
        "options": record["data_options"],
        "classes": [
            names.class_name(record["data"], label) for label in range(len(record["class_order"]))
        ],
    }


def run(record: Record, pools: dict[str, Pool]) -> Contents:
    """One run: its numbers, and where they come from."""
    origin = {
        "commit": record.get("commit"),
        "precision": record.get("precision"),
        **record.get("environment", {}),
        "data_sha256": record.get("data_sha256"),
    }
    return {
        "seed": record["seed"],
        "metrics": [rounded(measure.of(record)) for measure in METRICS],
        "costs": [rounded(measure.of(record)) for measure in COSTS],
        "order": pools["orders"].place(record["class_order"]),
        "origin": pools["origins"].place(origin),
        "accuracy": [trimmed(line) for line in record["accuracy"]],
    }


def metrics(group: Sequence[Record]) -> Contents:
    """What is measured of runs; for AI also the deviation over tasks."""
    found = summaries(group, METRICS)
    for measure in METRICS:
        if measure.over_tasks and measure.name in found:
            found[measure.name].append(rounded(measure.over_tasks(group)))
    return found


def summaries(group: Sequence[Record], of: Sequence[Measure]) -> Contents:
    """Mean, deviation and number of the runs that have a measure, for each that some run has."""
    found = {measure.name: [measure.of(record) for record in group] for measure in of}
    known = {
        name: [value for value in values if value is not None] for name, values in found.items()
    }
    return {name: summary(values) for name, values in known.items() if values}


def label_in(item: str, record: Record) -> Label:
    """What the tables of an item call the line of a run."""
    if item in LABELS:
        return LABELS[item](record)
    return labelled(record, usual=common_settings(item, record))


def common_settings(item: str, record: Record) -> Contents:
    """What a run shares with all cells of its item, which is therefore no variant."""
    planned = [set(cell.settings) for cell in ITEMS[item].cells] if item in ITEMS else []
    common = set.intersection(*planned) if planned else set()
    settings = record["settings"]
    return {
        name: settings[name]
        for name, value in common
        if name in settings and names.as_set(settings[name]) == value
    }


def printed(item: str, label: Label, record: Record) -> Contents | None:
    """What the paper prints for a row: in the item's own table, or in the main one."""
    source = item if f"{item} AA" in paper.numbers() else "table1"
    place, found = place_of(record), {}
    for measure in METRICS:
        number = printed_in(source, label, Column(place, "", "", measure))
        if number is not None:
            found[measure.name] = [number.mean, number.std]
    return found or None


def summary(values: npt.ArrayLike) -> list[float | int | None]:
    over = spread(values)
    return [rounded(over.mean), rounded(over.std), over.n]


def curve(group: Sequence[Record]) -> list[list[float | int | None]] | None:
    """Average accuracy after each task, over the runs; none if their tasks differ in number."""
    curves = [100 * accuracy_curve(record["accuracy"]) for record in group]
    if len({len(one) for one in curves}) > 1:
        return None
    return [summary(points)[:2] for points in np.array(curves).T]


def log(group: Sequence[Record]) -> Contents | None:
    """What a method reports of itself at the end of each task (α, η), mean over the runs."""
    logs = [record.get("log") or [] for record in group]
    names = dict.fromkeys(name for log in logs for entry in log for name in entry)
    tasks = min(len(log) for log in logs)
    return {
        name: [mean(log[task].get(name) for log in logs) for task in range(tasks)] for name in names
    } or None


def confusion(group: Sequence[Record]) -> list[list[float]] | None:
    """Counts at the end of training, mean over the runs; rows are labels, columns predictions."""
    matrices = [record["confusion"][-1] for record in group if record.get("confusion")]
    if not matrices:
        return None
    found: list[list[float]] = np.mean(matrices, axis=0).round(1).tolist()
    return found


def losses(group: Sequence[Record]) -> Contents | None:
    """The loss over the steps, mean over the runs, where they were measured at the same steps."""
    found = [record["losses"] for record in group if record.get("losses")]
    if not found or any(one["steps"] != found[0]["steps"] for one in found):
        return None
    values = zip(*(one["loss"] for one in found), strict=True)
    return {"steps": found[0]["steps"], "loss": [mean(point) for point in values]}


def variants(groups: Sequence[Sequence[Record]]) -> list[Contents]:
    """For each row, the settings in which it differs from others of its method and stream."""
    choices = [choice(group[0]) for group in groups]
    kinds = [(group[0]["method"], *place_of(group[0])[:3]) for group in groups]
    found = []
    for kind, chosen in zip(kinds, choices, strict=True):
        others = [other for other, its in zip(choices, kinds, strict=True) if its == kind]
        differs = [key for key in chosen if any(o.get(key) != chosen[key] for o in others)]
        found.append({key: chosen[key] for key in differs})
    return found


def choice(record: Record) -> Contents:
    """All that can be chosen about a run besides method, stream, memory and seed."""
    named = ("method", "data", "data_options", "stream", "memory", "seed", "settings")
    rest = {name: record.get(name) for name in IDENTITY if name not in named}
    return {**record["settings"], **rest}


def trimmed(line: Sequence[float]) -> list[float | None]:
    """Accuracies in percent without the zeros at the end, which stand for tasks to come."""
    last = max((place for place, value in enumerate(line, 1) if value), default=0)
    return [rounded(100 * value) for value in line[:last]]


def mean(values: Iterable[float | None]) -> float | None:
    """Over the values that are there."""
    known = [value for value in values if value is not None]
    return round(float(np.mean(known)), 4) if known else None


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)

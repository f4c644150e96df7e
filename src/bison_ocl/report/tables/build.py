"""A table from records: who stands in which line, and what of an item was planned."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from bison_ocl.experiments.plan import paper
from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.records.record import Environment, Metrics, Timing
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.report.study import threads
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.intransigence import same_stream
from bison_ocl.report.study.labels import LabelOf
from bison_ocl.report.study.paper import Published, printed
from bison_ocl.report.study.places import Place, place_of
from bison_ocl.report.tables.cells import Cell, Column, Label, Line, Table

SettingOf = Callable[[Entry], Hashable]
Printed = Callable[[Label, Column], Published | None]


def printed_in(item: str, label: Label, column: Column) -> Published | None:
    """The paper's number of a cell."""
    return printed(item, column.measure.name, label.printed, column.place)


def build(
    table: Table,
    records: Sequence[Entry],
    label_of: LabelOf,
    printed: Printed,
    expected: Iterable[Label] = (),
    setting_of: SettingOf = lambda record: None,
) -> Table:
    """The table with its lines: in each column the runs that belong there.

    expected: lines that are shown even without a run, in this order, before all others.
    """
    groups: dict[tuple[Label, Place, Hashable], list[Entry]] = {}
    for record in records:
        key = label_of(record), place_of(record), setting_of(record)
        groups.setdefault(key, []).append(record)
    ours = [label for label, _, _ in groups]
    references = [label for label in ours if label.reference]

    def at(label: Label, column: Column) -> Cell:
        runs = groups.get((label, column.place, column.setting), [])
        return cell(runs, column, printed(label, column))

    labels = dict.fromkeys([*references, *expected, *ours])
    lines = [Line(label, tuple(at(label, column) for column in table.columns)) for label in labels]
    notes = threads.differing(records, lambda record: label_of(record).text)
    return replace(table, lines=tuple(lines), notes=(*table.notes, *notes))


def cell(records: Sequence[Entry], column: Column, paper: Published | None) -> Cell:
    """The runs of a line in a column, as far as they have its measure."""
    measure = column.measure
    found = {same_stream(record): measure.of(record) for record in records}
    return Cell(
        {stream: value for stream, value in found.items() if value is not None},
        paper,
        measure.over_tasks(records) if measure.over_tasks else None,
    )


# --- what was planned ---


def planned(item: str, records: Sequence[Entry]) -> list[Entry]:
    """The cells of an item on the data at hand, as records without results: what may be missing."""
    if item not in ITEMS:
        return []
    present = {record.data for record in records}
    rescored = any(record.rule for record in records)
    found: list[Entry] = []
    for asked in ITEMS[item].cells:
        if asked.data in present:
            method = configured(asked.method, asked.data, dict(asked.settings))
            rules = [f"{asked.method} + {rule}" for rule in asked.also] if rescored else []
            found += [unrun(asked, way, settings_of(method)) for way in (asked.method, *rules)]
    return found


def unrun(cell: paper.Cell, method: str, settings: dict[str, Any]) -> Entry:
    """A cell without results."""
    return Entry(
        method=method,
        data=cell.data,
        memory=cell.memory,
        seed=0,
        settings=settings,
        stream=cell.stream,
        tells_precision=False,
        class_order=[],
        accuracy=[],
        metrics=Metrics(math.nan, math.nan, math.nan),
        also={},
        log=[],
        timing=Timing(0.0, 0.0, 0.0, 0.0),
        environment=Environment("none", 1),
        commit=None,
    )


def planned_seeds(item: str) -> int | None:
    """Runs of a whole cell; None for what is not of the paper."""
    return ITEMS[item].seeds if item in ITEMS else None


def title_of(item: str) -> str:
    plan = ITEMS.get(item)
    return f"{plan.title} (paper, {plan.shown})" if plan else item

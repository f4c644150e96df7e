"""A table from experiments: memories side by side, or measures side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.methods.declared import settings_on
from bison_ocl.report.study import labels, names, paper
from bison_ocl.report.study.experiments import Experiment
from bison_ocl.report.study.labels import Label
from bison_ocl.report.study.machines import differing_threads
from bison_ocl.report.study.measures import AA, METRICS, Measure
from bison_ocl.report.study.paper import Published
from bison_ocl.report.study.places import Place, in_order, place_of
from bison_ocl.report.tables.marks import marked
from bison_ocl.report.tables.table import Column, Comparison, Row, Table

Shown = Callable[[Place], Sequence[Measure]]
Printed = Callable[[str, Label, Column], Published | None]


def printed_in(item: str, label: Label, column: Column) -> Published | None:
    """The paper's number of a cell."""
    return paper.printed(item, column.measure.name, label.printed, column.place)


def by_memory(
    item: str,
    found: Sequence[Experiment],
    measure: Measure = AA,
    name: str | None = None,
    notes: tuple[str, ...] = (),
    tested: bool = True,
) -> Table:
    """One measure: a column for each memory size, a block for each dataset."""
    expected = planned(item, found)
    streams = stream_names(found, expected)
    columns = tuple(
        Column(place, streams[place], names.memory_name(place.memory), measure)
        for place in in_order(streams)
    )
    lines = [line for place in streams for line in paper.lines(item, measure.name, place.data)]
    known = [*map(labels.method_label, lines), *map(labels.label_of(item), expected)]
    rank = {line: place for place, line in enumerate(dict.fromkeys(lines))}
    known.sort(key=lambda label: rank.get(label.printed or "", len(rank)))  # readings side by side
    title = f"{title_of(item)}: {measure.label}"
    blank = Table(name or item, title, columns, planned=planned_seeds(item), notes=notes)
    return marked(filled(blank, item, found, known), tested)


def by_measure(
    item: str,
    found: Sequence[Experiment],
    shown: Shown = lambda place: METRICS,
    printed: Printed = printed_in,
    tested: bool = True,
    **described: Any,
) -> Table:
    """A column for each measure, a block for each dataset and memory size.

    described: heading, category and notes of the table.
    """
    expected = planned(item, found)
    streams = stream_names(found, expected)
    columns = tuple(
        Column(place, f"{streams[place]}, {names.memory_name(place.memory)}", one.label, one)
        for place in in_order(streams)
        for one in shown(place)
    )
    blank = Table(item, title_of(item), columns, planned=planned_seeds(item), **described)
    known = map(labels.label_of(item), expected)
    return marked(filled(blank, item, found, known, printed), tested=tested)


def filled(
    table: Table,
    item: str,
    found: Sequence[Experiment],
    expected: Iterable[Label] = (),
    printed: Printed = printed_in,
) -> Table:
    """The table with its rows: in each column the runs that belong there.

    expected: rows that are shown even without a run, in this order, before all others.
    """
    at = {(one.label, one.place): one for one in found}
    references = [one.label for one in found if one.label.reference]
    rows = tuple(
        Row(
            label,
            tuple(
                comparison(at.get((label, column.place)), column, printed(item, label, column))
                for column in table.columns
            ),
        )
        for label in dict.fromkeys([*references, *expected, *(one.label for one in found)])
    )
    threads = differing_threads([(one.title, one.records) for one in found])
    return replace(table, rows=rows, notes=(*table.notes, *threads))


def comparison(one: Experiment | None, column: Column, paper: Published | None) -> Comparison:
    """The runs of an experiment, as far as they have a measure, with the paper's number."""
    if one is None:
        return Comparison(paper=paper)
    over_tasks = column.measure.over_tasks
    return Comparison(
        one.values(column.measure.of), paper, over_tasks(one.records) if over_tasks else None
    )


def stream_names(found: Sequence[Experiment], expected: Sequence[Spec] = ()) -> dict[Place, str]:
    """The places of experiments and of planned runs, with the names of their streams."""
    ours = {one.place: names.stream_name(one.first) for one in found}
    return ours | {place_of(spec): names.stream_name(spec) for spec in expected}


# --- what was planned ---


def planned(item: str, found: Sequence[Experiment]) -> list[Spec]:
    """The cells of an item on the data at hand, run or not."""
    if item not in ITEMS:
        return []
    present = {one.place.data for one in found}
    rescored = any(one.rescored for one in found)
    return [
        Spec(asked.method + rule, asked.data, asked.memory, 0, settings, asked.stream)
        for asked in ITEMS[item].cells
        if asked.data in present
        for settings in [settings_on(asked.method, asked.data, dict(asked.settings))]
        for rule in ["", *(f" + {rule}" for rule in asked.also * rescored)]
    ]


def planned_seeds(item: str) -> int | None:
    """Runs of a complete cell; None for what is not of the paper."""
    return ITEMS[item].seeds if item in ITEMS else None


def title_of(item: str) -> str:
    plan = ITEMS.get(item)
    if plan is None:
        return item
    return f"{plan.title} (paper, {plan.shown})" if plan.shown else plan.title

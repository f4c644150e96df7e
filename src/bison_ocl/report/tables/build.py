"""A table from experiments: memories side by side, or measures side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.records.spec import Spec, own_name
from bison_ocl.report.study import labels, names, paper
from bison_ocl.report.study.experiments import Experiment
from bison_ocl.report.study.labels import Label
from bison_ocl.report.study.machines import differing_threads
from bison_ocl.report.study.measures import AA, METRICS, Measure
from bison_ocl.report.study.places import Place, in_order, place_of
from bison_ocl.report.tables.marks import marked
from bison_ocl.report.tables.table import Column, Comparison, Row, Table

Shown = Callable[[Place], Sequence[Measure]]
Columns = Callable[[Place, str], Sequence[Column]]
"""the columns of a place, given the name of its stream"""


def by_memory(
    item: str,
    experiments: Sequence[Experiment],
    measure: Measure = AA,
    name: str | None = None,
    **options: Any,
) -> Table:
    """One measure: a column for each memory size, a block for each dataset; rows as in the paper.

    options: as of `built`.
    """

    def columns(place: Place, stream: str) -> list[Column]:
        return [Column(place, stream, names.memory_name(place.memory), measure)]

    title = f"{title_of(item)}: {measure.label}"
    return built(
        item, experiments, columns, name=name or item, title=title, ranked_by=measure, **options
    )


def by_measure(
    item: str,
    experiments: Sequence[Experiment],
    shown: Shown = lambda place: METRICS,
    **options: Any,
) -> Table:
    """A column for each measure, a block for each dataset and memory size.

    options: as of `built`.
    """

    def columns(place: Place, stream: str) -> list[Column]:
        block = f"{stream}, {names.memory_name(place.memory)}"
        return [Column(place, block, one.label, one) for one in shown(place)]

    return built(item, experiments, columns, name=item, title=title_of(item), **options)


def built(
    item: str,
    experiments: Sequence[Experiment],
    columns_at: Columns,
    ranked_by: Measure | None = None,
    tested: bool = True,
    notes: tuple[str, ...] = (),
    **described: Any,
) -> Table:
    """A table with a row for each experiment, and for each that is planned or printed.

    ranked_by: whose table in the paper orders the rows; described: more fields of the table.
    """
    expected = at_hand(item, experiments)
    streams = {one.place: names.stream_name(one.first) for one in experiments}
    streams |= {place_of(spec): names.stream_name(spec) for spec in expected}
    columns = [one for place in in_order(streams) for one in columns_at(place, streams[place])]
    metric = ranked_by.name if ranked_by else ""
    lines = [line for place in streams for line in paper.lines(item, metric, place.data)]
    known = [*map(labels.method_label, lines), *map(labels.label_of(item), expected)]
    rank = {line: place for place, line in enumerate(dict.fromkeys(lines))}
    known.sort(key=lambda label: rank.get(label.printed or "", len(rank)))  # readings side by side
    references = [one.label for one in experiments if one.label.reference]
    at = {(one.label, one.place): one for one in experiments}
    rows = [
        Row(label, tuple(comparison(item, label, column, at) for column in columns))
        for label in dict.fromkeys([*references, *known, *(one.label for one in experiments)])
    ]
    notes += differing_threads(experiments)
    seeds = ITEMS[item].seeds if item in ITEMS else None
    made = Table(columns=tuple(columns), rows=tuple(rows), planned=seeds, notes=notes, **described)
    return marked(made, tested)


def comparison(
    item: str, label: Label, column: Column, at: Mapping[tuple[Label, Place], Experiment]
) -> Comparison:
    """The runs of a cell, as far as there are and as they have its measure, and the paper's."""
    measure, one = column.measure, at.get((label, column.place))
    paper = measure.in_paper(item, measure.name, label.printed, column.place)
    if one is None:
        return Comparison(paper=paper)
    over_tasks = measure.over_tasks(one.records) if measure.over_tasks else None
    return Comparison(one.values(measure.of), paper, over_tasks)


# --- what was planned ---


def at_hand(item: str, experiments: Sequence[Experiment]) -> list[Spec]:
    """The planned cells of an item on the data at hand, run or not."""
    present = {one.place.data for one in experiments}
    rescored = any(one.rescored for one in experiments)
    return [
        run
        for run in labels.planned(item)
        if run.data in present and (rescored or run.method == own_name(run.method))
    ]


def title_of(item: str) -> str:
    plan = ITEMS.get(item)
    if plan is None:
        return item
    return f"{plan.title} (paper, {plan.shown})" if plan.shown else plan.title

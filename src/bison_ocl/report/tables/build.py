"""A table from groups of runs: memories side by side, or measures side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.report.study import labels, machines, names, paper
from bison_ocl.report.study.groups import Group
from bison_ocl.report.study.labels import Label, LabelOf
from bison_ocl.report.study.measures import AA, METRICS, Measure
from bison_ocl.report.study.paper import Published
from bison_ocl.report.study.places import Place, in_order, place_of
from bison_ocl.report.tables.cells import Cell, Column, Line, Table
from bison_ocl.report.tables.marks import marked

Shown = Callable[[Place], Sequence[Measure]]
Printed = Callable[[Label, Column], Published | None]


def by_memory(
    item: str,
    groups: Sequence[Group],
    measure: Measure = AA,
    name: str | None = None,
    notes: tuple[str, ...] = (),
) -> Table:
    """One measure: a column for each memory, in groups by dataset."""
    expected = planned(item, groups)
    streams = stream_names(groups, expected)
    columns = tuple(
        Column(place, streams[place], names.memory_name(place.memory), measure)
        for place in in_order(streams)
    )
    lines = [line for place in streams for line in paper.lines(item, measure.name, place.data)]
    title = f"{title_of(item)}: {measure.label}"
    blank = Table(name or item, title, columns, planned=planned_seeds(item), notes=notes)
    label_of = labels.label_of(item)
    known = [*map(labels.method_label, lines), *map(label_of, expected)]
    rank = {line: place for place, line in enumerate(dict.fromkeys(lines))}
    known.sort(key=lambda label: rank.get(label.printed or "", len(rank)))  # readings side by side
    return marked(filled(blank, groups, label_of, partial(printed_in, item), known))


def by_measure(
    item: str,
    groups: Sequence[Group],
    shown: Shown = lambda place: METRICS,
    label_of: LabelOf | None = None,
    printed: Printed | None = None,
    heading: str = "method",
    category: str = "kind",
    notes: tuple[str, ...] = (),
    tested: bool = True,
) -> Table:
    """A column for each measure, in groups by dataset and memory."""
    expected = planned(item, groups)
    streams = stream_names(groups, expected)
    columns = tuple(
        Column(place, f"{streams[place]}, {names.memory_name(place.memory)}", one.label, one)
        for place in in_order(streams)
        for one in shown(place)
    )
    seeds = planned_seeds(item)
    blank = Table(item, title_of(item), columns, (), heading, category, seeds, notes)
    named, beside = label_of or labels.label_of(item), printed or partial(printed_in, item)
    return marked(filled(blank, groups, named, beside, map(named, expected)), tested=tested)


def filled(
    table: Table,
    groups: Sequence[Group],
    label_of: LabelOf,
    printed: Printed,
    expected: Iterable[Label] = (),
) -> Table:
    """The table with its lines: in each column the runs that belong there.

    expected: lines that are shown even without a run, in this order, before all others.
    """
    found = {(label_of(group.first), group.place): group for group in groups}
    ours = [label for label, _ in found]
    references = [label for label in ours if label.reference]

    def at(label: Label, column: Column) -> Cell:
        group = found.get((label, column.place))
        return cell(group, column.measure, printed(label, column))

    lines = tuple(
        Line(label, tuple(at(label, column) for column in table.columns))
        for label in dict.fromkeys([*references, *expected, *ours])
    )
    threads = machines.differing_threads(
        [(label_of(one.first).text, one.records) for one in groups]
    )
    return replace(table, lines=lines, notes=(*table.notes, *threads))


def cell(group: Group | None, measure: Measure, paper: Published | None) -> Cell:
    """The runs of a line in a column, as far as they have its measure."""
    if group is None:
        return Cell(paper=paper)
    over_tasks = measure.over_tasks(group.records) if measure.over_tasks else None
    return Cell(group.values(measure.of), paper, over_tasks)


def printed_in(item: str, label: Label, column: Column) -> Published | None:
    """The paper's number of a cell."""
    return paper.printed(item, column.measure.name, label.printed, column.place)


def stream_names(groups: Sequence[Group], expected: Sequence[Spec] = ()) -> dict[Place, str]:
    """The places of groups and of planned runs, and how their streams are called."""
    ours = {group.place: names.stream_name(group.first) for group in groups}
    return ours | {place_of(spec): names.stream_name(spec) for spec in expected}


# --- what was planned ---


def planned(item: str, groups: Sequence[Group]) -> list[Spec]:
    """The cells of an item on the data at hand: what may be missing."""
    if item not in ITEMS:
        return []
    present = {group.place.data for group in groups}
    rescored = any(group.rescored for group in groups)
    return [
        Spec(asked.method + rule, asked.data, asked.memory, 0, settings_of(one), asked.stream)
        for asked in ITEMS[item].cells
        if asked.data in present
        for one in [configured(asked.method, asked.data, dict(asked.settings))]
        for rule in ["", *(f" + {rule}" for rule in asked.also * rescored)]
    ]


def planned_seeds(item: str) -> int | None:
    """Runs of a whole cell; None for what is not of the paper."""
    return ITEMS[item].seeds if item in ITEMS else None


def title_of(item: str) -> str:
    plan = ITEMS.get(item)
    if plan is None:
        return item
    return f"{plan.title} (paper, {plan.shown})" if plan.shown else plan.title

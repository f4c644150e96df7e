"""The two ways a table is laid out: memories side by side, or measures side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from bison_ocl.report.study import labels, names, paper
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.labels import LabelOf
from bison_ocl.report.study.measures import AA, METRICS, Measure
from bison_ocl.report.study.places import Place, in_every_place, in_order, place_of
from bison_ocl.report.tables.build import (
    Printed,
    build,
    planned,
    planned_seeds,
    printed_in,
    title_of,
)
from bison_ocl.report.tables.cells import Column, Table
from bison_ocl.report.tables.marks import marked

CONVENTIONS = (
    "AF_table: the fall from the best at any time, mean over all T tasks, which is what the "
    "paper's tables hold; AF (text): its formula, over the T − 1 earlier tasks, best before the end"
)

Shown = Callable[[Place], Sequence[Measure]]


def by_memory(
    item: str,
    records: Sequence[Entry],
    measure: Measure = AA,
    name: str | None = None,
    notes: tuple[str, ...] = (),
) -> Table:
    """One measure: a column for each memory, in groups by dataset."""
    everything, expected = in_every_place(records), planned(item, records)
    streams = stream_names([*everything, *expected])
    columns = tuple(
        Column(place, streams[place], names.memory_name(place[3]), measure)
        for place in in_order(streams)
    )
    lines = [line for place in streams for line in paper.lines(item, measure.name, place[0])]
    title = f"{title_of(item)}: {measure.label}"
    blank = Table(name or item, title, columns, (), planned=planned_seeds(item), notes=notes)
    label_of = labels.label_of(item)
    known = [*map(labels.method_label, lines), *map(label_of, expected)]
    rank = {line: place for place, line in enumerate(dict.fromkeys(lines))}
    known.sort(key=lambda label: rank.get(label.printed or "", len(rank)))  # readings side by side
    return marked(build(blank, everything, label_of, partial(printed_in, item), known))


def by_measure(
    item: str,
    records: Sequence[Entry],
    shown: Shown = lambda place: METRICS,
    label_of: LabelOf | None = None,
    printed: Printed | None = None,
    heading: str = "method",
    category: str = "kind",
    notes: tuple[str, ...] = (CONVENTIONS,),
    tested: bool = True,
) -> Table:
    """A column for each measure, in groups by dataset and memory."""
    everything, expected = in_every_place(records), planned(item, records)
    streams = stream_names([*everything, *expected])
    columns = tuple(
        Column(place, f"{streams[place]}, {names.memory_name(place[3])}", measure.label, measure)
        for place in in_order(streams)
        for measure in shown(place)
    )
    blank = Table(item, title_of(item), columns, (), heading, category, planned_seeds(item), notes)
    named, beside = label_of or labels.label_of(item), printed or partial(printed_in, item)
    filled = build(blank, everything, named, beside, map(named, expected))
    return marked(filled, tested=tested)


def stream_names(records: Iterable[Entry]) -> dict[Place, str]:
    """The places of records, and how their streams are called."""
    return {place_of(record): names.stream_name(record) for record in records}

"""Which tables an item has: those of the paper in its layout; an overview for anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bison_ocl.report.study import measures, names
from bison_ocl.report.study.classes import SIMILAR, newest
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Group, compared, grouped, own
from bison_ocl.report.study.measures import AA, AF, AF_TABLE, AI, METRICS, Measure
from bison_ocl.report.study.places import Place
from bison_ocl.report.tables.build import by_measure, by_memory
from bison_ocl.report.tables.cells import Table
from bison_ocl.report.tables.cost import efficiency, time


def tables(item: str, records: Sequence[Entry]) -> list[Table]:
    """All tables of an item; an overview where its own have nothing to show."""
    groups = grouped(records)
    found = [table for table in LAYOUTS.get(item, summary)(item, groups) if table.columns]
    return found or summary(item, groups)


def overview(item: str, records: Sequence[Entry]) -> list[Table]:
    """AA, AF and AI of whatever was run."""
    return summary(item, grouped(records))


def summary(item: str, groups: Sequence[Group]) -> list[Table]:
    """AA, AF and AI; where tasks share classes, anytime accuracy too."""
    anytime = {group.place for group in groups if group.values(measures.A_AUC.of)}

    def shown(place: Place) -> Sequence[Measure]:
        return (*METRICS, measures.A_AUC) if place in anytime else METRICS

    return [by_measure(item, groups, shown)]


def table1(item: str, groups: Sequence[Group]) -> list[Table]:
    """AA, AF in both conventions and AI of every method, dataset and memory."""
    files = {"accuracy": AA, "forgetting": AF_TABLE, "forgetting-text": AF, "intransigence": AI}
    return [
        by_memory(
            item,
            own(groups),
            measure,
            name=f"{item}-{name}",
        )
        for name, measure in files.items()
    ]


def accuracy(item: str, groups: Sequence[Group]) -> list[Table]:
    """AA over memories."""
    return [by_memory(item, compared(groups))]


def balance(item: str, groups: Sequence[Group]) -> list[Table]:
    return [by_measure(item, own(groups))]


def curves(item: str, groups: Sequence[Group]) -> list[Table]:
    """AA after each task."""
    tasks = {group.place: len(group.first.accuracy) for group in groups}

    def shown(place: Place) -> Sequence[Measure]:
        return [measures.after_task(task) for task in range(tasks.get(place, 0))]

    return [by_measure(item, own(groups), shown)]


def ablation(item: str, groups: Sequence[Group]) -> list[Table]:
    meaning = "DC: dual classifiers; PAL: proxy-anchor loss; PAF: proxy alignment feedback"
    notes = (meaning,)
    return [by_measure(item, compared(groups), heading="BISON", category="parts", notes=notes)]


def directions(item: str, groups: Sequence[Group]) -> list[Table]:
    meaning = "bs: from buffer to stream; sb: from stream to buffer"
    notes = (meaning,)
    return [by_measure(item, compared(groups), heading="(PAL, PAF)", category="", notes=notes)]


def confusion(item: str, groups: Sequence[Group]) -> list[Table]:
    """Column precision of the newest classes: of the images given one, the share that is right."""
    found: dict[Place, dict[int, None]] = {}
    for group in compared(groups):
        for record in group.records:
            if record.confusion:
                found.setdefault(group.place, {}).update(dict.fromkeys(newest(record)))

    def shown(place: Place) -> Sequence[Measure]:
        labels = found.get(place, {})
        return [measures.precision(label, names.class_name(place.data, label)) for label in labels]

    meaning = "precision: ours is the mean over runs, the paper's that of its mean matrix"
    return [by_measure(item, compared(groups), shown, notes=(meaning,))]


def similar_pairs(item: str, groups: Sequence[Group]) -> list[Table]:
    """How far similar classes are taken for each other."""

    def shown(place: Place) -> Sequence[Measure]:
        pairs = SIMILAR.get((place.data, place.stream))
        return measures.similar(pairs) if pairs else ()

    return [by_measure(item, compared(groups), shown, notes=("at the end, mean over classes",))]


LAYOUTS: Mapping[str, Callable[[str, Sequence[Group]], list[Table]]] = {
    "table1": table1,
    "ablation": ablation,
    "ncm": accuracy,
    "directions": directions,
    "time": time,
    "confusion": confusion,
    "similar-pairs": similar_pairs,
    "curves": curves,
    "balance": balance,
    "feature-enhancement": accuracy,
    "efficiency": efficiency,
    "beyond": accuracy,
}
"""By item; what is not here gets an overview."""

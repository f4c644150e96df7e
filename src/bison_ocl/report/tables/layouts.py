"""Which tables an item has: those of the paper in its layout; an overview for anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bison_ocl.report.study import measures, names
from bison_ocl.report.study.classes import SIMILAR, newest
from bison_ocl.report.study.entry import Entry, own
from bison_ocl.report.study.labels import by_buffer_batch
from bison_ocl.report.study.measures import AA, AF, AF_TABLE, AI, METRICS, Measure
from bison_ocl.report.study.places import Place, compared, in_every_place, place_of
from bison_ocl.report.tables.arrange import CONVENTIONS, by_measure, by_memory
from bison_ocl.report.tables.cells import Table
from bison_ocl.report.tables.cost import efficiency, time
from bison_ocl.report.tables.sensitivity import sensitivity


def tables(item: str, records: Sequence[Entry]) -> list[Table]:
    """All tables of an item; an overview where its own have nothing to show."""
    found = [table for table in LAYOUTS.get(item, overview)(item, records) if table.columns]
    return found or overview(item, records)


def overview(item: str, records: Sequence[Entry]) -> list[Table]:
    """AA, AF and AI of whatever was run; where tasks share classes, anytime accuracy too."""
    anytime = {place_of(record) for record in records if record.metrics.A_AUC is not None}

    def shown(place: Place) -> Sequence[Measure]:
        return (*METRICS, measures.A_AUC) if place in anytime else METRICS

    return [by_measure(item, records, shown)]


def table1(item: str, records: Sequence[Entry]) -> list[Table]:
    """AA, AF in both conventions and AI of every method, dataset and memory."""
    files = {"accuracy": AA, "forgetting": AF_TABLE, "forgetting-text": AF, "intransigence": AI}
    return [
        by_memory(
            item,
            own(records),
            measure,
            name=f"{item}-{name}",
            notes=(CONVENTIONS,) if measure in (AF, AF_TABLE) else (),
        )
        for name, measure in files.items()
    ]


def accuracy(item: str, records: Sequence[Entry]) -> list[Table]:
    """AA over memories."""
    return [by_memory(item, compared(records))]


def balance(item: str, records: Sequence[Entry]) -> list[Table]:
    return [by_measure(item, own(records))]


def curves(item: str, records: Sequence[Entry]) -> list[Table]:
    """AA after each task."""
    tasks = {place_of(record): len(record.accuracy) for record in in_every_place(records)}

    def shown(place: Place) -> Sequence[Measure]:
        return [measures.after_task(task) for task in range(tasks.get(place, 0))]

    return [by_measure(item, own(records), shown, notes=())]


def ablation(item: str, records: Sequence[Entry]) -> list[Table]:
    meaning = "DC: dual classifiers; PAL: proxy-anchor loss; PAF: proxy alignment feedback"
    notes = (meaning, CONVENTIONS)
    return [by_measure(item, compared(records), heading="BISON", category="parts", notes=notes)]


def directions(item: str, records: Sequence[Entry]) -> list[Table]:
    meaning = "bs: from buffer to stream; sb: from stream to buffer"
    notes = (meaning, CONVENTIONS)
    return [by_measure(item, compared(records), heading="(PAL, PAF)", category="", notes=notes)]


def buffer_batch(item: str, records: Sequence[Entry]) -> list[Table]:
    def size(record: Entry) -> int:
        return int(record.settings["buffer_batch"])

    sized = [record for record in compared(records) if "buffer_batch" in record.settings]
    ordered = sorted(sized, key=size)
    heading = "buffer batch"
    return [by_measure(item, ordered, label_of=by_buffer_batch, heading=heading, category="")]


def confusion(item: str, records: Sequence[Entry]) -> list[Table]:
    """Column precision of the newest classes: of the images given one, the share that is right."""
    found: dict[Place, dict[int, None]] = {}
    for record in compared(records):
        if record.confusion:
            found.setdefault(place_of(record), {}).update(dict.fromkeys(newest(record)))

    def shown(place: Place) -> Sequence[Measure]:
        labels = found.get(place, {})
        return [measures.precision(label, names.class_name(place[0], label)) for label in labels]

    meaning = (
        "precision of the newest classes at the end: images of the class among all that are given "
        "it, 0 where none is; ours is the mean over runs, the paper's that of its mean matrix"
    )
    return [by_measure(item, compared(records), shown, notes=(meaning,))]


def similar_pairs(item: str, records: Sequence[Entry]) -> list[Table]:
    """How far similar classes are taken for each other."""

    def shown(place: Place) -> Sequence[Measure]:
        data, _, stream, _ = place
        pairs = SIMILAR.get((data, stream))
        return measures.similar(pairs) if pairs else ()

    meaning = (
        "at the end, mean over classes; SC@1: share of a class's images taken for its partner; "
        "P_sim: of those given their class or its partner, the share that is right"
    )
    return [by_measure(item, compared(records), shown, notes=(meaning,))]


LAYOUTS: Mapping[str, Callable[[str, Sequence[Entry]], list[Table]]] = {
    "table1": table1,
    "ablation": ablation,
    "ncm": accuracy,
    "directions": directions,
    "time": time,
    "confusion": confusion,
    "similar-pairs": similar_pairs,
    "curves": curves,
    "balance": balance,
    "sensitivity": sensitivity,
    "feature-enhancement": accuracy,
    "buffer-batch": buffer_batch,
    "efficiency": efficiency,
}
"""By item; what is not here gets an overview."""

"""Which tables an item has: those of the paper in its layout; an overview for anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from bison_ocl.experiments.intransigence import REFERENCE
from bison_ocl.experiments.records import Record
from bison_ocl.report import measures, names, paper
from bison_ocl.report.build import (
    LabelOf,
    Printed,
    build,
    labelled,
    method_label,
    planned,
    planned_seeds,
    printed_in,
    title_of,
)
from bison_ocl.report.cells import Column, Label, Table, marked
from bison_ocl.report.measures import AA, AF, AF_TABLE, AI, METRICS, Measure
from bison_ocl.report.paper import Published
from bison_ocl.report.places import Place, in_every_place, in_order, place_of
from bison_ocl.report.similar import SIMILAR

CONVENTIONS = (
    "AF_table: the fall from the best at any time, mean over all T tasks, which is what the "
    "paper's tables hold; AF (text): its formula, over the T − 1 earlier tasks, best before the end"
)

Shown = Callable[[Place], Sequence[Measure]]


def tables(item: str, records: Sequence[Record]) -> list[Table]:
    """All tables of an item; an overview where its own have nothing to show."""
    found = [table for table in LAYOUTS.get(item, overview)(item, records) if table.columns]
    return found or overview(item, records)


# --- memories side by side ---


def by_memory(
    item: str,
    records: Sequence[Record],
    measure: Measure = AA,
    label_of: LabelOf = labelled,
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
    known = [*map(method_label, lines), *map(label_of, expected)]
    return marked(build(blank, everything, label_of, partial(printed_in, item), known))


def stream_names(records: Iterable[Record]) -> dict[Place, str]:
    """The places of records, and how their streams are called."""
    return {place_of(record): names.stream_name(record) for record in records}


def table1(item: str, records: Sequence[Record]) -> list[Table]:
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


def ncm(item: str, records: Sequence[Record]) -> list[Table]:
    return [by_memory(item, compared(records))]


def feature_enhancement(item: str, records: Sequence[Record]) -> list[Table]:
    large = {"filters": 64, "buffer_batch": 64}
    return [by_memory(item, compared(records), label_of=partial(labelled, usual=large))]


def own(records: Sequence[Record]) -> list[Record]:
    """Methods by their own inference: another rule on the same networks is another table's."""
    return [record for record in records if record["rule"] is None]


def compared(records: Sequence[Record]) -> list[Record]:
    """Without FINE-TUNE, which is there for AI alone."""
    return [record for record in records if record["method"] != REFERENCE]


# --- measures side by side ---

in_table1 = partial(printed_in, "table1")


def by_measure(
    item: str,
    records: Sequence[Record],
    shown: Shown = lambda place: METRICS,
    label_of: LabelOf = labelled,
    printed: Printed = in_table1,
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
    filled = build(blank, everything, label_of, printed, map(label_of, expected))
    return marked(filled, tested=tested)


def overview(item: str, records: Sequence[Record]) -> list[Table]:
    """AA, AF and AI of whatever was run; where tasks share classes, anytime accuracy too."""
    anytime = {place_of(record) for record in records if "A_AUC" in record["metrics"]}

    def shown(place: Place) -> Sequence[Measure]:
        return (*METRICS, measures.A_AUC) if place in anytime else METRICS

    return [by_measure(item, records, shown)]


def curves(item: str, records: Sequence[Record]) -> list[Table]:
    """AA after each task."""
    tasks = {place_of(record): len(record["accuracy"]) for record in in_every_place(records)}

    def shown(place: Place) -> Sequence[Measure]:
        return [measures.after_task(task) for task in range(tasks.get(place, 0))]

    return [by_measure(item, own(records), shown, notes=())]


def balance(item: str, records: Sequence[Record]) -> list[Table]:
    return [by_measure(item, own(records))]


def ablation(item: str, records: Sequence[Record]) -> list[Table]:
    return [
        by_measure(
            item,
            compared(records),
            label_of=parts,
            printed=partial(printed_in, item),
            heading="BISON",
            category="parts",
        )
    ]


PARTS = {"dc": "DC", "pal": "PAL", "paf": "PAF"}
ABLATIONS = {
    "DC, PAL, PAF": "BISON",
    "DC, PAL": "w/o PAF",
    "DC, PAF": "w/o PAL",
    "DC": "w/o PAF & PAL",
    "PAL": "w/o DC & PAF",
    "": "w/o all",
}
"""The paper's names by the parts that are left."""


def parts(record: Record) -> Label:
    """A line of the ablation, by the parts of BISON that a run has; others by their own name."""
    settings = record["settings"]
    if record["method"] != "bison":
        return labelled(record)
    left = ", ".join(PARTS[part] for part in PARTS if settings[part] not in (False, "off"))
    changed = names.variant(record, shown=PARTS)
    name = ABLATIONS.get(left, f"with {left}")
    return Label(
        f"{name} ({changed})" if changed else name,
        left or "none",
        printed=None if changed else name,
        main=name == "BISON" and not changed,
    )


def directions(item: str, records: Sequence[Record]) -> list[Table]:
    found = by_measure(
        item, compared(records), label_of=direction, heading="(PAL, PAF)", category=""
    )
    return [found]


def direction(record: Record) -> Label:
    """(bs, sb): proxy-anchor loss from buffer to stream, feedback from stream to buffer."""
    settings = record["settings"]
    text = f"({settings.get('pal', '–')}, {settings.get('paf', '–')})"
    return by_setting(record, text, ("pal", "paf"))


def buffer_batch(item: str, records: Sequence[Record]) -> list[Table]:
    def sized(record: Record) -> Label:
        return by_setting(record, str(record["settings"]["buffer_batch"]), ("buffer_batch",))

    ordered = sorted(compared(records), key=lambda record: record["settings"]["buffer_batch"])
    return [by_measure(item, ordered, label_of=sized, heading="buffer batch", category="")]


def by_setting(record: Record, text: str, shown: Sequence[str]) -> Label:
    """A line named by some settings; others that differ from the preset follow."""
    changed = names.variant(record, shown=shown)
    own = not names.variant(record)
    method = "" if record["method"] == "bison" else f"{names.method_name(record['method'])} "
    return Label(
        f"{method}{text}" + (f" ({changed})" if changed else ""),
        printed=record["method"] if own else None,
        main=own and not method,
    )


# --- cost ---


def time(item: str, records: Sequence[Record]) -> list[Table]:
    """Seconds of a run, and how many times ER's."""
    shown = (
        measures.TOTAL,
        measures.relative(measures.TOTAL, baseline(records, "er", measures.TOTAL), "ER"),
        measures.TRAIN,
        measures.TEST,
        measures.STEP,
    )
    return [
        by_measure(
            item,
            compared(records),
            lambda place: shown,
            printed=lambda label, column: None,
            notes=hardware(records),
            tested=False,
        )
    ]


def efficiency(item: str, records: Sequence[Record]) -> list[Table]:
    """Parameters and peak memory of a GPU, and how many times ER's."""
    shown = [
        one
        for measure in (measures.PARAMETERS, measures.PEAK)
        for one in (measure, measures.relative(measure, baseline(records, "er", measure), "ER"))
    ]
    return [
        by_measure(
            item,
            compared(records),
            lambda place: shown,
            printed=partial(printed_ratio, item),
            notes=(
                "peak memory: what tensors take, ours; the whole process with its CUDA context, "
                "the paper's: only the ratio is comparable",
                *hardware(records),
            ),
            tested=False,
        )
    ]


def baseline(records: Sequence[Record], method: str, measure: Measure) -> dict[Place, float]:
    """A measure's mean over the runs of a method, by place."""
    found: dict[Place, list[float]] = {}
    for record in records:
        value = measure.of(record)
        if record["method"] == method and not names.variant(record) and value is not None:
            found.setdefault(place_of(record), []).append(value)
    return {place: float(np.mean(values)) for place, values in found.items()}


def printed_ratio(item: str, label: Label, column: Column) -> Published | None:
    """A number of the paper, or how many times ER's it is."""
    name, _, to = column.measure.name.partition(" / ")
    data, _, _, memory = column.place
    if label.printed is None:
        return None
    own = paper.published(item, name, label.printed, data, memory)
    base = paper.published(item, name, to.lower(), data, memory) if to else None
    if own is None or not to:
        return own
    return Published(own.mean / base.mean, None) if base else None


def hardware(records: Sequence[Record]) -> tuple[str, ...]:
    """What the runs were measured on."""
    found = dict.fromkeys(record.get("environment", {}).get("device") for record in records)
    return (f"measured on {', '.join(str(device or 'an unknown machine') for device in found)}",)


# --- confusion ---


def confusion(item: str, records: Sequence[Record]) -> list[Table]:
    """Column precision of the newest classes: of the images given one, the share that is right."""
    newest: dict[Place, dict[int, None]] = {}
    for record in compared(records):
        if record.get("confusion"):
            last = len(record["class_order"]) // len(record["accuracy"])
            newest.setdefault(place_of(record), {}).update(
                dict.fromkeys(record["class_order"][-last:])
            )

    def shown(place: Place) -> Sequence[Measure]:
        labels = newest.get(place, {})
        return [measures.precision(label, names.class_name(place[0], label)) for label in labels]

    return [
        by_measure(
            item,
            compared(records),
            shown,
            printed=partial(printed_in, item),
            notes=(
                "precision of the newest classes at the end: images of the class among all that "
                "are given it; ours is the mean over runs, the paper's that of its mean matrix",
            ),
        )
    ]


def similar_pairs(item: str, records: Sequence[Record]) -> list[Table]:
    """How far similar classes are taken for each other."""
    def shown(place: Place) -> Sequence[Measure]:
        data, _, stream, _ = place
        pairs = SIMILAR.get((data, stream))
        return measures.similar(pairs) if pairs else ()

    found = by_measure(
        item,
        compared(records),
        shown,
        printed=lambda label, column: None,
        notes=(
            "at the end, mean over classes; SC@1: share of a class's images taken for its partner; "
            "P_sim: of those given their class or its partner, the share that is right",
        ),
    )
    return [found]


# --- the grid of two settings ---


def sensitivity(item: str, records: Sequence[Record]) -> list[Table]:
    """A table for each place: β down, λ across, for AA, AF and AI."""
    found = compared(records)
    streams = stream_names(found)
    return [
        grid(item, [record for record in found if place_of(record) == place], streams[place])
        for place in in_order(streams)
    ]


def grid(item: str, records: Sequence[Record], stream: str) -> Table:
    place = place_of(records[0])
    data, _, _, memory = place
    usual = names.preset("bison", data)
    betas, weights = (
        sorted({record["settings"][name] for record in records}) for name in ("beta", "lambda")
    )

    def label_of(record: Record) -> Label:
        changed = names.variant(record, shown=("beta", "lambda"))
        beta = f"β = {record['settings']['beta']:g}"
        return Label(f"{beta} ({changed})" if changed else beta)

    columns = tuple(
        Column(place, measure.label, f"λ = {weight:g}", measure, weight)
        for measure in (AA, AF_TABLE, AI)
        for weight in weights
    )

    def printed(label: Label, column: Column) -> Published | None:
        chosen = label.text == f"β = {usual['beta']:g}" and column.setting == usual["lambda"]
        if not chosen:
            return None
        return printed_in("table1", Label("", printed="bison"), column)

    blank = Table(
        f"{item}-{data}-{memory}",
        f"{title_of(item)}: {stream}, {names.memory_name(memory)}",
        columns,
        (),
        heading="",
        category="",
        planned=planned_seeds(item),
    )
    ordered = sorted(records, key=lambda record: betas.index(record["settings"]["beta"]))
    filled = build(
        blank, ordered, label_of, printed, setting_of=lambda record: record["settings"]["lambda"]
    )
    return marked(filled, whole_group=True, tested=False)


LAYOUTS: Mapping[str, Callable[[str, Sequence[Record]], list[Table]]] = {
    "table1": table1,
    "ablation": ablation,
    "ncm": ncm,
    "directions": directions,
    "time": time,
    "confusion": confusion,
    "similar-pairs": similar_pairs,
    "curves": curves,
    "balance": balance,
    "sensitivity": sensitivity,
    "feature-enhancement": feature_enhancement,
    "buffer-batch": buffer_batch,
    "efficiency": efficiency,
}
"""By item; what is not here gets an overview."""

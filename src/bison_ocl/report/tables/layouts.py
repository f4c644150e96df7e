"""Which tables an item has: those of the paper in its layout; an overview for anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bison_ocl.report.study import measures, names
from bison_ocl.report.study.classes import SIMILAR, as_heading, class_names, newest
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment, by_own_rule, compared, experiments
from bison_ocl.report.study.labels import MAIN_METHOD
from bison_ocl.report.study.machines import hardware
from bison_ocl.report.study.measures import AA, AF, AF_TABLE, AI, BASELINE, METRICS, Measure
from bison_ocl.report.study.paper import Published, printed
from bison_ocl.report.study.places import Place, place_of
from bison_ocl.report.tables.build import by_measure, by_memory
from bison_ocl.report.tables.table import Table

Experiments = Sequence[Experiment]


def tables_of(item: str, records: Sequence[Entry]) -> list[Table]:
    """All tables of an item; an overview where its own have nothing to show."""
    found = experiments(item, records)
    made = [table for table in LAYOUTS.get(item, summary)(item, found) if table.columns]
    return made or summary(item, found)


def overview(item: str, records: Sequence[Entry]) -> list[Table]:
    """The summary of any runs."""
    return summary(item, experiments(item, records))


def summary(item: str, found: Experiments) -> list[Table]:
    """AA, AF and AI; where tasks share classes, anytime accuracy too."""
    anytime = {one.place for one in found if one.values(measures.A_AUC.of)}

    def shown(place: Place) -> Sequence[Measure]:
        return (*METRICS, measures.A_AUC) if place in anytime else METRICS

    return [by_measure(item, found, shown)]


def table1(item: str, found: Experiments) -> list[Table]:
    """AA, AF in both conventions and AI of every method, dataset and memory."""
    files = {"accuracy": AA, "forgetting": AF_TABLE, "forgetting-text": AF, "intransigence": AI}
    return [
        by_memory(item, by_own_rule(found), one, f"{item}-{name}") for name, one in files.items()
    ]


def accuracy(item: str, found: Experiments) -> list[Table]:
    """AA over memories."""
    return [by_memory(item, compared(found))]


def balance(item: str, found: Experiments) -> list[Table]:
    return [by_measure(item, by_own_rule(found))]


def curves(item: str, found: Experiments) -> list[Table]:
    """AA after each task."""
    tasks = {one.place: len(one.first.accuracy) for one in found}

    def shown(place: Place) -> Sequence[Measure]:
        return [measures.after_task(task) for task in range(tasks.get(place, 0))]

    return [by_measure(item, by_own_rule(found), shown)]


def ablation(item: str, found: Experiments) -> list[Table]:
    meaning = "DC: dual classifiers; PAL: proxy-anchor loss; PAF: proxy alignment feedback"
    kept, notes = compared(found), (meaning,)
    return [by_measure(item, kept, heading="BISON", category="parts", notes=notes)]


def directions(item: str, found: Experiments) -> list[Table]:
    meaning = "bs: from buffer to stream; sb: from stream to buffer"
    kept, notes = compared(found), (meaning,)
    return [by_measure(item, kept, heading="(PAL, PAF)", category="", notes=notes)]


def confusion(item: str, found: Experiments) -> list[Table]:
    """Precision of the newest classes: of the images predicted as one, the share that is right."""
    runs: dict[Place, list[Entry]] = {}
    for one in compared(found):
        kept = [record for record in one.records if record.confusion]
        runs.setdefault(one.place, []).extend(kept)

    def shown(place: Place) -> Sequence[Measure]:
        at = runs.get(place, [])
        known = class_names(at) if at else ()
        labels = dict.fromkeys(label for record in at for label in newest(record))
        return [measures.precision(label, as_heading(known[label])) for label in labels]

    meaning = "precision: ours is the mean over runs, the paper's is that of its mean matrix"
    return [by_measure(item, compared(found), shown, notes=(meaning,))]


def similar_pairs(item: str, found: Experiments) -> list[Table]:
    """How often similar classes are confused."""

    def shown(place: Place) -> Sequence[Measure]:
        pairs = SIMILAR.get((place.data, place.stream))
        return measures.similar(pairs) if pairs else ()

    return [by_measure(item, compared(found), shown, notes=("at the end, mean over classes",))]


# --- costs ---


def time(item: str, found: Experiments) -> list[Table]:
    """Seconds per run, and multiples of ER's if it ran."""
    total, ratio = measures.TOTAL, relative(measures.TOTAL, found)
    ratios = [ratio] if any(one.values(ratio.of) for one in found) else []
    return [costs(item, found, (total, *ratios, *measures.PARTS))]


def efficiency(item: str, found: Experiments) -> list[Table]:
    """Parameters and peak GPU memory, and multiples of ER's."""
    pairs = [(one, relative(one, found)) for one in (measures.PARAMETERS, measures.PEAK)]
    return [costs(item, found, [one for pair in pairs for one in pair], PEAK_NOTE)]


def costs(item: str, found: Sequence[Experiment], shown: Sequence[Measure], *notes: str) -> Table:
    """Measures of cost; a note names the machine."""
    kept = compared(found)
    return by_measure(item, kept, lambda _: shown, tested=False, notes=(*notes, *hardware(kept)))


def relative(measure: Measure, found: Sequence[Experiment], to: str = BASELINE) -> Measure:
    """A measure as a multiple of the mean of a baseline in the same place."""
    baselines = {
        one.place: one.over(measure.of).mean
        for one in found
        if one.method == to and one.label.printed == to and one.values(measure.of)
    }
    name = names.method_name(to)

    def of(record: Entry) -> float | None:
        value, baseline = measure.of(record), baselines.get(place_of(record))
        return None if value is None or not baseline else value / baseline

    def in_paper(item: str, _: str, line: str | None, place: Place) -> Published | None:
        own, base = (printed(item, measure.name, one, place) for one in (line, to))
        return Published(own.mean / base.mean, None) if own and base else None

    label = f"{measure.label} / {name}'s"
    return Measure(f"{measure.name} / {name}", label, of, measure.better, "", 3, in_paper=in_paper)


def beyond(item: str, found: Experiments) -> list[Table]:
    """AA of every readout over memories, and the time of every network as a multiple of BISON's."""
    trained = compared(by_own_rule(found))
    notes = ("tests: all readouts of a network together", *hardware(trained))
    return [
        by_memory(item, compared(found), notes=(READOUTS,)),
        *(
            by_memory(
                item, trained, relative(one, trained, MAIN_METHOD), name, notes=notes, tested=False
            )
            for name, one in (
                (f"{item}-training", measures.TRAIN),
                (f"{item}-tests", measures.TEST),
            )
        ),
    ]


PEAK_NOTE = (
    "peak memory: ours counts tensors, the paper's the whole process with its CUDA context; "
    "only the ratios compare"
)
READOUTS = (
    "averaged: on averaged weights; LD: by a linear discriminant; NCM: by nearest class mean; "
    "mirror: with mirror images; a row without these: the method's own rule"
)

LAYOUTS: Mapping[str, Callable[[str, Experiments], list[Table]]] = {
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
    "beyond": beyond,
}
"""By item; what is not here gets an overview."""

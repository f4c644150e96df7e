"""Tables of cost: seconds, parameters and memory of a run, and multiples of a baseline's."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.report.study import measures, names
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment, compared
from bison_ocl.report.study.labels import Label
from bison_ocl.report.study.machines import hardware
from bison_ocl.report.study.measures import BASELINE, Measure
from bison_ocl.report.study.paper import Published, printed
from bison_ocl.report.study.places import place_of
from bison_ocl.report.tables.build import by_measure, printed_in
from bison_ocl.report.tables.table import Column, Table

PEAK_NOTE = (
    "peak memory: ours counts tensors, the paper's the whole process with its CUDA context; "
    "only the ratios compare"
)


def costs(item: str, found: Sequence[Experiment], shown: Sequence[Measure], *notes: str) -> Table:
    """Measures of cost; a note names the machine."""
    kept = compared(found)
    machine = hardware([record for one in kept for record in one.records])
    return by_measure(
        item, kept, lambda _: shown, printed=printed_cost, tested=False, notes=(*notes, *machine)
    )


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

    return Measure(
        f"{measure.name} / {name}", f"{measure.label} / {name}'s", of, measure.better, "", 3
    )


def printed_cost(item: str, label: Label, column: Column) -> Published | None:
    """The paper's number, or its multiple of ER's; of peak memory, only the latter compares."""
    if column.measure == measures.PEAK:
        return None
    name, _, to = column.measure.name.partition(" / ")
    if not to:
        return printed_in(item, label, column)
    own = printed(item, name, label.printed, column.place)
    base = printed(item, name, BASELINE, column.place)
    return Published(own.mean / base.mean, None) if own and base else None

"""What methods cost: tables of time, of parameters and of memory, and how many times ER's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bison_ocl.report.study import measures, names
from bison_ocl.report.study.groups import Group, compared
from bison_ocl.report.study.labels import Label
from bison_ocl.report.study.machines import hardware
from bison_ocl.report.study.measures import BASELINE, Measure
from bison_ocl.report.study.paper import Published, printed
from bison_ocl.report.tables.build import by_measure, printed_in
from bison_ocl.report.tables.cells import Column, Table

PEAK_NOTE = (
    "peak memory: what tensors take; the paper's is that of the whole process with its "
    "CUDA context, so only the ratio stands beside ours"
)


def time(item: str, groups: Sequence[Group]) -> list[Table]:
    """Seconds of a run, and how many times ER's."""
    ratio = beside_er(measures.TOTAL, groups)
    return [
        costs(item, groups, (measures.TOTAL, ratio, measures.TRAIN, measures.TEST, measures.STEP))
    ]


def efficiency(item: str, groups: Sequence[Group]) -> list[Table]:
    """Parameters and peak memory of a GPU, and how many times ER's."""
    pairs = [(one, beside_er(one, groups)) for one in (measures.PARAMETERS, measures.PEAK)]
    return [costs(item, groups, [one for pair in pairs for one in pair], PEAK_NOTE)]


def costs(item: str, groups: Sequence[Group], shown: Sequence[Measure], *notes: str) -> Table:
    """Measures of cost; the note says on which machine."""
    kept = compared(groups)
    machine = hardware([record for group in kept for record in group.records])
    return by_measure(
        item,
        kept,
        lambda place: shown,
        printed=partial(printed_cost, item),
        notes=(*notes, *machine),
        tested=False,
    )


def beside_er(measure: Measure, groups: Sequence[Group]) -> Measure:
    """A measure as a multiple of ER's mean in the same place."""
    baselines = {
        group.place: group.over(measure.of).mean
        for group in groups
        if group.method == BASELINE and not names.variant(group.first) and group.values(measure.of)
    }
    return measures.relative(measure, baselines, names.method_name(BASELINE))


def printed_cost(item: str, label: Label, column: Column) -> Published | None:
    """A number of the paper, or how many times ER's it is; of memory, only the latter compares."""
    if column.measure == measures.PEAK:
        return None
    name, _, to = column.measure.name.partition(" / ")
    if not to:
        return printed_in(item, label, column)
    own = printed(item, name, label.printed, column.place)
    base = printed(item, name, BASELINE, column.place)
    return Published(own.mean / base.mean, None) if own and base else None

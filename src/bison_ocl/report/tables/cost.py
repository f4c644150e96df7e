"""What methods cost: tables of time, of parameters and of memory, and how many times ER's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bison_ocl.report.study import measures, names
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.measures import Measure
from bison_ocl.report.study.paper import Published, printed
from bison_ocl.report.study.places import Place, compared, place_of
from bison_ocl.report.tables.arrange import by_measure
from bison_ocl.report.tables.build import printed_in
from bison_ocl.report.tables.cells import Column, Label, Table

BASELINE = "er"


def time(item: str, records: Sequence[Entry]) -> list[Table]:
    """Seconds of a run, and how many times ER's."""
    shown = (
        measures.TOTAL,
        beside_er(measures.TOTAL, records),
        measures.TRAIN,
        measures.TEST,
        measures.STEP,
    )
    notes = hardware(records)
    return [by_measure(item, compared(records), lambda place: shown, notes=notes, tested=False)]


def efficiency(item: str, records: Sequence[Entry]) -> list[Table]:
    """Parameters and peak memory of a GPU, and how many times ER's."""
    shown = [
        one
        for measure in (measures.PARAMETERS, measures.PEAK)
        for one in (measure, beside_er(measure, records))
    ]
    return [
        by_measure(
            item,
            compared(records),
            lambda place: shown,
            printed=partial(printed_cost, item),
            notes=(
                "peak memory: what tensors take; the paper's is that of the whole process with its "
                "CUDA context, so only the ratio stands beside ours",
                *hardware(records),
            ),
            tested=False,
        )
    ]


def beside_er(measure: Measure, records: Sequence[Entry]) -> Measure:
    """A measure as a multiple of ER's mean in the same place."""
    found: dict[Place, list[float]] = {}
    for record in records:
        value = measure.of(record)
        if record.method == BASELINE and not names.variant(record) and value is not None:
            found.setdefault(place_of(record), []).append(value)
    baselines = {place: float(np.mean(values)) for place, values in found.items()}
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


def hardware(records: Sequence[Entry]) -> tuple[str, ...]:
    """What the runs were measured on; times of several machines do not compare."""
    found = dict.fromkeys(record.environment.device for record in records)
    named = ", ".join(str(device or "an unknown machine") for device in found)
    doubt = ": do not compare across machines" * (len(found) > 1)
    together = max((r.timing.seeds_at_once for r in records), default=1)
    shared = (f"up to {together} seeds trained together: a run's time is its share",)
    return (f"measured on {named}{doubt}", *shared * (together > 1))

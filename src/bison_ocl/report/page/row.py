"""What the runs of an experiment come to: metrics, curve, scalars, confusion, losses, costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bison_ocl.evaluate.metrics import accuracy_curve, spread
from bison_ocl.report.study import measures
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.measures import Measure

METRICS = (*measures.METRICS, measures.A_AUC)
COSTS = (
    *(measures.TOTAL, measures.TRAIN, measures.TEST, measures.STEP),
    *(measures.PARAMETERS, measures.PEAK),
)

Contents = dict[str, Any]


def figures(group: Sequence[Entry]) -> Contents:
    """All of it, by name; None for what the runs do not have."""
    return {
        "metrics": metrics(group),
        "curve": curve(group),
        "log": log(group),
        "confusion": confusion(group),
        "losses": losses(group),
        "costs": summaries(group, COSTS),
    }


def metrics(group: Sequence[Entry]) -> Contents:
    """What is measured of runs; for AI also the deviation over tasks."""
    found = summaries(group, METRICS)
    for measure in METRICS:
        if measure.over_tasks and measure.name in found:
            found[measure.name].append(rounded(measure.over_tasks(group)))
    return found


def summaries(group: Sequence[Entry], of: Sequence[Measure]) -> Contents:
    """Mean, deviation and number of the runs that have a measure, for each that some run has."""
    found = {measure.name: [measure.of(record) for record in group] for measure in of}
    known = {
        name: [value for value in values if value is not None] for name, values in found.items()
    }
    return {name: summary(values) for name, values in known.items() if values}


def summary(values: npt.ArrayLike) -> list[float | int | None]:
    over = spread(values)
    return [rounded(over.mean), rounded(over.std), over.n]


def curve(group: Sequence[Entry]) -> list[list[float | int | None]] | None:
    """Average accuracy after each task, over the runs; none if their tasks differ in number."""
    curves = [100 * accuracy_curve(record.accuracy) for record in group]
    if len({len(one) for one in curves}) > 1:
        return None
    return [summary(points)[:2] for points in np.array(curves).T]


def log(group: Sequence[Entry]) -> Contents | None:
    """What a method reports of itself at the end of each task (α, η), mean over the runs."""
    logs = [record.log or [] for record in group]
    names = dict.fromkeys(name for log in logs for entry in log for name in entry)
    tasks = min(len(log) for log in logs)
    return {
        name: [mean(log[task].get(name) for log in logs) for task in range(tasks)] for name in names
    } or None


def confusion(group: Sequence[Entry]) -> list[list[float]] | None:
    """Counts at the end of training, mean over the runs; rows are labels, columns predictions."""
    matrices = [record.counts[-1] for record in group if record.confusion]
    if not matrices:
        return None
    found: list[list[float]] = np.mean(matrices, axis=0).round(1).tolist()
    return found


def losses(group: Sequence[Entry]) -> Contents | None:
    """The loss over the steps, mean over the runs, where they were measured at the same steps."""
    found = [record.losses for record in group if record.losses]
    if not found or any(one.steps != found[0].steps for one in found):
        return None
    values = zip(*(one.loss for one in found), strict=True)
    return {"steps": found[0].steps, "loss": [mean(point) for point in values]}


def mean(values: Iterable[float | None]) -> float | None:
    """Over the values that are there."""
    known = [value for value in values if value is not None]
    return rounded(float(np.mean(known))) if known else None


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Short, but long enough that what is printed is rounded once only."""
    return None if value is None else round(value, digits)

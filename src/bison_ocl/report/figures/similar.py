"""SC@1 and P_sim after each task: errors inside pairs of similar classes (paper, Fig. 8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bison_ocl.evaluate.confusion import (
    Measure,
    after_each_task,
    similar_confusion,
    similar_precision,
)
from bison_ocl.report.figures.chart import Axis, Chart, NotShown
from bison_ocl.report.figures.confusion import with_confusion
from bison_ocl.report.figures.curves import bands, curve, task_ticks
from bison_ocl.report.figures.panels import Line, Panel, only
from bison_ocl.report.study.classes import similar_pairs, task_of_class
from bison_ocl.report.study.groups import Floats

MEASURES: dict[str, Measure] = {
    "SC@1 (%), lower is better": similar_confusion,
    "P_sim (%), higher is better": similar_precision,
}
NOTE = (
    "Mean over classes with a similar partner. SC@1: share of a class's images taken for the "
    "partner. P_sim: of those given their class or the partner, the share that is right."
)


def similar_curves(panels: Sequence[Panel]) -> list[Chart]:
    """After each task, averaged over the classes whose partner was seen too."""
    found = []
    for panel in with_similar_pairs(panels):
        for name, measure in MEASURES.items():
            drawn = [curve(line, after_tasks(measure, line)) for line in panel.lines]
            title = f"{name.partition(' ')[0]} after each task\n{panel.title}"
            tasks, y = task_ticks(len(drawn[0].x)), Axis(name, limits=(0, None))
            x = Axis("tasks learned", ticks=tasks)
            found.append(Chart(title, x, y, drawn, notes=[NOTE, *bands(drawn)]))
    return found


def with_similar_pairs(panels: Sequence[Panel]) -> list[Panel]:
    """The experiments on a stream whose similar classes are known."""
    found = only(with_confusion(panels), lambda line: bool(similar_pairs(line.group.first)))
    if not found:
        raise NotShown("pairs of similar classes are known for split-cifar10, order:confusion only")
    return found


def after_tasks(measure: Measure, line: Line) -> Floats:
    """In percent [seeds, T]; NaN while no pair is complete."""
    pairs = similar_pairs(line.group.first)
    return 100 * np.array(
        [
            after_each_task(measure, record.counts, pairs, task_of_class(record))
            for record in line.group.records
        ]
    )

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
from bison_ocl.report.figures.curves import curve, over_tasks
from bison_ocl.report.figures.panels import Panel, panels
from bison_ocl.report.study.classes import similar_pairs, task_of_class
from bison_ocl.report.study.experiments import Experiment, Floats

MEASURES: dict[str, Measure] = {
    "SC@1 (%), lower is better": similar_confusion,
    "P_sim (%), higher is better": similar_precision,
}
NOTE = (
    "Mean over classes with a similar partner. SC@1: share of a class's images predicted as the "
    "partner. P_sim: of the images predicted as their class or the partner, the share that is "
    "right."
)


def similar_curves(experiments: Sequence[Experiment]) -> list[Chart]:
    """Errors inside pairs of similar classes, over the classes whose partner was seen too."""
    known = [one for one in with_confusion(experiments) if similar_pairs(one.first)]
    if not known:
        raise NotShown("pairs of similar classes are known for split-cifar10, order:confusion only")
    return [similar(panel, name) for panel in panels(known) for name in MEASURES]


def similar(panel: Panel, name: str) -> Chart:
    drawn = [curve(one, after_tasks(MEASURES[name], one)) for one in panel.lines]
    title = f"{name.partition(' ')[0]} after each task\n{panel.title}"
    return over_tasks(title, drawn, Axis(name, limits=(0, None)), NOTE)


def after_tasks(measure: Measure, one: Experiment) -> Floats:
    """In percent [seeds, T]; NaN while no pair is complete."""
    pairs = similar_pairs(one.first)
    return 100 * np.array(
        [
            after_each_task(measure, record.counts, pairs, task_of_class(record))
            for record in one.records
        ]
    )

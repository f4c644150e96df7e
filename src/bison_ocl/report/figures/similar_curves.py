"""SC@1 and P_sim after each task: errors inside pairs of similar classes (paper, Fig. 8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bison_ocl.evaluate.confusion import (
    Measure,
    after_each_task,
    similar_confusion,
    similar_precision,
)
from bison_ocl.report.figures.confusion import with_confusion
from bison_ocl.report.figures.curves import count_tasks, draw
from bison_ocl.report.figures.drawing.grid import DEVIATION, grid, legend, note
from bison_ocl.report.figures.drawing.panels import Line, place_title, seeds
from bison_ocl.report.figures.drawing.style import common_look
from bison_ocl.report.study.classes import similar_pairs, task_of_class
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Floats, Group, NotShown

MEASURES: dict[str, Measure] = {
    "SC@1 (%), lower is better": similar_confusion,
    "P_sim (%), higher is better": similar_precision,
}
NOTE = (
    "Mean over classes with a similar partner. SC@1: share of a class's images taken for the "
    "partner. P_sim: of those given their class or the partner, the share that is right."
)


@common_look()
def similar_curves(item: str, records: Sequence[Entry]) -> Figure:
    """Averaged over the classes whose partner was seen too, so from the second task on."""
    shown = with_similar_pairs(item, records)
    figure, places = grid(len(MEASURES))
    for (name, measure), axes in zip(MEASURES.items(), places, strict=True):
        for line in shown:
            draw(axes, line, curves(measure, line.group))
        count_tasks(axes, len(shown[0].group.first.counts))
        title = f"{name.partition(' ')[0]} after each task\n{where(shown)}"
        axes.set(ylabel=name, title=title)
        axes.set_ylim(bottom=0)
    legend(figure, shown)
    note(figure, NOTE, DEVIATION)
    return figure


def with_similar_pairs(item: str, records: Sequence[Entry]) -> list[Line]:
    """The experiments on a stream whose similar classes are known."""
    found = [line for line in with_confusion(item, records) if similar_pairs(line.group.first)]
    if not found:
        raise NotShown("pairs of similar classes are known for split-cifar10, order:confusion only")
    return found


def where(lines: Sequence[Line]) -> str:
    return f"{place_title(lines[0].group)}, {seeds([line.group for line in lines])}"


def curves(measure: Measure, group: Group) -> Floats:
    """In percent [seeds, T]; NaN while no pair is complete."""
    pairs = similar_pairs(group.first)
    return 100 * np.array(
        [
            after_each_task(measure, record.counts, pairs, task_of_class(record))
            for record in group.records
        ]
    )

"""SC@1 and P_sim at the end of training, by task (paper, Fig. 8 in its other reading)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bison_ocl.evaluate.confusion import Measure, by_task
from bison_ocl.report.figures.drawing.bars import Bar, bar_legend, beside
from bison_ocl.report.figures.drawing.grid import THIN, grid, note
from bison_ocl.report.figures.drawing.style import common_look
from bison_ocl.report.figures.similar_curves import MEASURES, NOTE, where, with_similar_pairs
from bison_ocl.report.study.classes import similar_pairs, task_of_class
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Floats, Group
from bison_ocl.report.study.names import class_name


@common_look()
def similar_bars(item: str, records: Sequence[Entry]) -> Figure:
    """Averaged over the classes of each task."""
    shown = with_similar_pairs(item, records)
    figure, places = grid(len(MEASURES), width=5.2)
    for (name, measure), axes in zip(MEASURES.items(), places, strict=True):
        bars = [Bar(line.title, line.look, values(measure, line.group)) for line in shown]
        beside(axes, bars)
        names = task_names(shown[0].group)
        axes.set_xticks(range(len(names)), names)
        title = f"{name.partition(' ')[0]} at the end, by task\n{where(shown)}"
        axes.set(ylabel=name, title=title)
    bar_legend(figure, places[0], bars)
    note(figure, NOTE, THIN)
    return figure


def values(measure: Measure, group: Group) -> Floats:
    """In percent [seeds, T]."""
    pairs = similar_pairs(group.first)
    return 100 * np.array(
        [
            by_task(measure, record.counts[-1], pairs, task_of_class(record))
            for record in group.records
        ]
    )


def task_names(group: Group) -> list[str]:
    """The classes of each task."""
    tasks = task_of_class(group.first)
    return [
        "\n".join(class_name(group.first.data, int(c)) for c in np.flatnonzero(tasks == task))
        for task in range(tasks.max() + 1)
    ]

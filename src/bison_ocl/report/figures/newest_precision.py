"""Of the images that are given one of the newest classes, the share that is right (paper, Fig. 7).

A learner that favours what it learned last gives these classes too many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bison_ocl.evaluate.confusion import column_precision
from bison_ocl.experiments.records import Record
from bison_ocl.report.figures.bars import Bar, bar_legend, beside
from bison_ocl.report.figures.class_order import task_of_class
from bison_ocl.report.figures.confusion import with_confusion
from bison_ocl.report.figures.grid import grid
from bison_ocl.report.figures.groups import Floats, Group, NotShown
from bison_ocl.report.figures.panels import place_title, seeds
from bison_ocl.report.figures.printed import printed
from bison_ocl.report.figures.style import common_look
from bison_ocl.report.names import class_name


@common_look()
def newest_precision(records: Sequence[Record]) -> Figure:
    """A bar for each method and class of the last task; lines across: the paper's numbers."""
    shown = with_confusion(records)
    classes = newest(shown[0].group)
    if any(newest(line.group) != classes for line in shown):
        raise NotShown("the runs do not end with the same classes")
    names = [class_name(shown[0].group.first["data"], label) for label in classes]
    figure, (axes,) = grid(1, width=5.6)
    bars = [
        Bar(
            line.title,
            line.look,
            precision(line.group, classes),
            [printed(line, name, "confusion") for name in names],
        )
        for line in shown
    ]
    beside(axes, bars)
    axes.set_xticks(range(len(names)), names)
    groups = [line.group for line in shown]
    axes.set(ylabel="column precision (%)", title=f"{place_title(groups[0])}, {seeds(groups)}")
    axes.set_ylim(0, 100)
    bar_legend(figure, axes, bars)
    return figure


def newest(group: Group) -> list[int]:
    """The classes of the last task, as they first came; all seeds must agree."""
    found = set()
    for record in group.records:
        tasks = task_of_class(record)
        found.add(tuple(c for c in record["class_order"] if tasks[c] == tasks.max()))
    if len(found) > 1:
        raise NotShown("the seeds do not end with the same classes")
    return list(found.pop())


def precision(group: Group, classes: Sequence[int]) -> Floats:
    """In percent [seeds, classes]."""
    last = [column_precision(record["confusion"][-1]) for record in group.records]
    return 100 * np.array(last)[:, list(classes)]

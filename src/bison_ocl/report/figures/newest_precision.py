"""Of the images that are given one of the newest classes, the share that is right (paper, Fig. 7).

A learner that favours what it learned last gives these classes too many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bison_ocl.report.figures.confusion import with_confusion
from bison_ocl.report.figures.drawing.bars import Bar, bar_legend, beside
from bison_ocl.report.figures.drawing.grid import THIN, grid, note
from bison_ocl.report.figures.drawing.panels import place_title, seeds
from bison_ocl.report.figures.drawing.style import common_look
from bison_ocl.report.study.classes import newest, shown_precision
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Floats, Group, NotShown
from bison_ocl.report.study.names import class_name

NOTE = "Of the images given one of the newest classes, the share that is right; 0 without any."


@common_look()
def newest_precision(item: str, records: Sequence[Entry]) -> Figure:
    """A bar for each method and class of the last task; lines across: the paper's numbers."""
    shown = with_confusion(item, records)
    classes = newest_of(shown[0].group)
    if any(set(newest_of(line.group)) != set(classes) for line in shown):
        raise NotShown("the runs do not end with the same classes")
    names = [class_name(shown[0].group.first.data, label) for label in classes]
    figure, (axes,) = grid(1, width=5.6)
    bars = [
        Bar(
            line.title,
            line.look,
            precision(line.group, classes),
            [line.printed(item, name) for name in names],
        )
        for line in shown
    ]
    beside(axes, bars)
    axes.set_xticks(range(len(names)), names)
    groups = [line.group for line in shown]
    axes.set(ylabel="column precision (%)", title=f"{place_title(groups[0])}, {seeds(groups)}")
    axes.set_ylim(0, 100)
    bar_legend(figure, axes, bars)
    note(figure, NOTE, THIN)
    return figure


def newest_of(group: Group) -> list[int]:
    """The classes of the last task, on which all seeds must agree, whichever came first."""
    found = {frozenset(newest(record)) for record in group.records}
    if len(found) > 1:
        raise NotShown("the seeds do not end with the same classes")
    return list(newest(group.first))


def precision(group: Group, classes: Sequence[int]) -> Floats:
    """In percent [seeds, classes]."""
    last = [shown_precision(record.counts[-1]) for record in group.records]
    return 100 * np.array(last)[:, list(classes)]

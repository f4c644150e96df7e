"""Accuracy after each task, with a band of one standard deviation (paper, Fig. A1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bison_ocl.experiments.records import Record
from bison_ocl.report.build import LabelOf, labelled
from bison_ocl.report.figures.grid import grid, legend
from bison_ocl.report.figures.groups import Floats, deviation, mean
from bison_ocl.report.figures.panels import Line, Panel, panels
from bison_ocl.report.figures.printed import printed
from bison_ocl.report.figures.style import common_look

MOST_TICKS = 12
ABREAST = 3
"""the paper's markers of a column, so that close ones can be told apart"""


@common_look()
def curves(records: Sequence[Record], label_of: LabelOf = labelled, item: str = "table1") -> Figure:
    """One panel a stream and memory, one line a method; at the right, what the paper prints.

    item: where the paper prints the accuracies at the end.
    """
    shown = panels(records, label_of)
    figure, places = grid(len(shown))
    for panel, axes in zip(shown, places, strict=True):
        for line in panel.lines:
            draw(axes, line, line.group.curves())
        count_tasks(axes, panel.tasks)
        axes.set(ylabel="average accuracy (%)", title=panel.title)
        axes.set_ylim(bottom=0)
        paper_column(axes, panel, item)
    legend(figure, (line for panel in shown for line in panel.lines))
    return figure


def draw(axes: Axes, line: Line, values: Floats, **look: Any) -> None:
    """The mean over seeds of values [seeds, T], with its band."""
    middle, std = mean(values), deviation(values)
    tasks = np.arange(1, len(middle) + 1)
    drawn: dict[str, Any] = (
        {"label": line.title, "zorder": 2 + line.look.width} | line.look.line() | look
    )
    axes.plot(tasks, middle, **drawn)
    if line.group.n > 1:
        axes.fill_between(
            tasks, middle - std, middle + std, color=drawn["color"], alpha=0.13, linewidth=0
        )


def count_tasks(axes: Axes, tasks: int) -> None:
    """The horizontal axis of everything that is measured at task ends."""
    axes.set_xticks(range(1, tasks + 1, -(-tasks // MOST_TICKS)))
    axes.set_xlabel("tasks learned")
    axes.grid(axis="y")


def paper_column(axes: Axes, panel: Panel, item: str) -> None:
    """Hollow markers beyond the last task: the paper's accuracy at the end."""
    numbers = [(printed(line, "AA", item), line) for line in panel.lines]
    known = [(number, line) for number, line in numbers if number is not None]
    known.sort(key=lambda pair: pair[0])
    step = 0.035 * panel.tasks
    start = panel.tasks + max(0.5, 0.08 * panel.tasks)
    for place, (number, line) in enumerate(known):
        look = line.look.line() | {"linestyle": "", "markerfacecolor": "white"}
        axes.plot([start + place % ABREAST * step], [number], label=f"{line.title} (paper)", **look)
    if known:
        axes.axvline((panel.tasks + start) / 2, color="#BBBBBB", linewidth=0.8)
        ticks = [int(tick) for tick in axes.get_xticks()]
        axes.set_xticks([*ticks, start + step], [*map(str, ticks), "paper"])

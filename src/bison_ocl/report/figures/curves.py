"""Accuracy after each task, with a band of one standard deviation (paper, Fig. A1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bison_ocl.report.figures.drawing.grid import DEVIATION, grid, legend, note
from bison_ocl.report.figures.drawing.panels import Line, Panel, panels
from bison_ocl.report.figures.drawing.style import common_look, plotted
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Floats, deviation, mean
from bison_ocl.report.study.labels import label_of

MOST_TICKS = 12
MOST_BANDS = 5
"""with more lines than this, bands hide each other"""
ABREAST = 3
"""the paper's markers of a column, so that close ones can be told apart"""


NOTE = "Over the tasks learned so far, mean over runs."
PAPER = "Hollow, at the right: the paper's accuracy after the last task."


@common_look()
def curves(item: str, records: Sequence[Entry]) -> Figure:
    """One panel a stream and memory, one line a method; at the right, what the paper prints."""
    shown = panels(records, label_of(item))
    bands = all(len(panel.lines) <= MOST_BANDS for panel in shown)
    figure, places = grid(len(shown))
    printed = False
    for panel, axes in zip(shown, places, strict=True):
        for line in panel.lines:
            draw(axes, line, line.group.curves(), bands)
        count_tasks(axes, panel.tasks)
        axes.set(ylabel="average accuracy (%)", title=panel.title)
        axes.set_ylim(bottom=0)
        printed |= paper_column(axes, item, panel)
    legend(figure, (line for panel in shown for line in panel.lines))
    note(figure, NOTE, DEVIATION * bands, PAPER * printed)
    return figure


def draw(axes: Axes, line: Line, values: Floats, band: bool = True, **look: Any) -> None:
    """The mean over seeds of values [seeds, T], perhaps with its band."""
    middle, std = mean(values), deviation(values)
    tasks = np.arange(1, len(middle) + 1)
    drawn: dict[str, Any] = (
        {"label": line.title, "zorder": 2 + line.look.width} | plotted(line.look) | look
    )
    axes.plot(tasks, middle, **drawn)
    if band and line.group.n > 1:
        axes.fill_between(
            tasks, middle - std, middle + std, color=drawn["color"], alpha=0.13, linewidth=0
        )


def count_tasks(axes: Axes, tasks: int) -> None:
    """The horizontal axis of everything that is measured at task ends."""
    axes.set_xticks(range(1, tasks + 1, -(-tasks // MOST_TICKS)))
    axes.set_xlabel("tasks learned")
    axes.grid(axis="y")


def paper_column(axes: Axes, item: str, panel: Panel) -> bool:
    """Hollow markers beyond the last task: the paper's accuracy at the end, if it prints any."""
    numbers = [(line.printed(item, "AA"), line) for line in panel.lines]
    known = [(number, line) for number, line in numbers if number is not None]
    known.sort(key=lambda pair: pair[0])
    step = 0.035 * panel.tasks
    start = panel.tasks + max(0.5, 0.08 * panel.tasks)
    for place, (number, line) in enumerate(known):
        look = plotted(line.look) | {"linestyle": "", "markerfacecolor": "white"}
        axes.plot([start + place % ABREAST * step], [number], label=f"{line.title} (paper)", **look)
    if known:
        axes.axvline((panel.tasks + start) / 2, color="#BBBBBB", linewidth=0.8)
        ticks = [int(tick) for tick in axes.get_xticks()]
        axes.set_xticks([*ticks, start + step], [*map(str, ticks), "paper"])
    return bool(known)

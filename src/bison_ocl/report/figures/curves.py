"""Accuracy after each task, with a band of one standard deviation (paper, Fig. A1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bison_ocl.report.figures.chart import Axis, Chart, Guide, Series
from bison_ocl.report.figures.panels import Line, Panel
from bison_ocl.report.study.groups import Floats, deviation, middle
from bison_ocl.report.study.measures import plus_minus

MOST_BANDS = 5
"""with more lines than this, bands hide each other"""
BANDS = "Bands: one standard deviation over runs."
ABREAST = 3
"""the paper's markers in a row, so that close ones can be told apart"""
MOST_TICKS = 12
NOTE = "Over the tasks learned so far, mean over runs."
PAPER = "Hollow, at the right: the paper's accuracy after the last task."


def curves(panels: Sequence[Panel]) -> list[Chart]:
    """One line per method; at the right, what the paper prints."""
    return [chart(panel) for panel in panels]


def chart(panel: Panel) -> Chart:
    drawn = [curve(line, line.group.curves()) for line in panel.lines]
    tasks = max(len(one.x) for one in drawn)
    paper = at_the_end(panel, tasks)
    return Chart(
        panel.title,
        Axis("tasks learned", ticks=task_ticks(tasks)),
        Axis("average accuracy (%)", limits=(0, None)),
        [*drawn, *paper],
        guides=[Guide(x=(tasks + paper[0].x[0]) / 2, text="paper")] if paper else (),
        notes=[NOTE, *bands(drawn), *[PAPER] * bool(paper)],
    )


def curve(line: Line, values: Floats, decimals: int = 1, **changes: Any) -> Series:
    """The mean over seeds of values [seeds, T], with its deviation."""
    mean, std = middle(values), deviation(values)
    error = std.tolist() if len(values) > 1 else []
    pairs = zip(mean, error or [None] * len(mean), strict=True)
    told = [plus_minus(m, s, decimals) for m, s in pairs]
    tasks, look = np.arange(1, len(mean) + 1).tolist(), replace(line.look, **changes)
    return line.series(tasks, mean.tolist(), "curve", look=look, y_error=error, told=told)


def bands(series: Sequence[Series]) -> list[str]:
    """The note on bands, where lines are few enough to have them."""
    return [BANDS] * (len(series) <= MOST_BANDS and any(one.y_error for one in series))


def task_ticks(tasks: int) -> list[int]:
    return list(range(1, tasks + 1, -(-tasks // MOST_TICKS)))


def at_the_end(panel: Panel, tasks: int) -> list[Series]:
    """Hollow markers beyond the last task: the paper's accuracy at the end."""
    numbers = [(line.printed(panel.item, "AA"), line) for line in panel.lines]
    known = [(number, line) for number, line in numbers if number is not None]
    start, step = tasks + max(0.5, 0.08 * tasks), 0.035 * tasks
    return [
        line.series(
            *([start + place % ABREAST * step], [number], "points"),
            name=f"{line.title} (paper)",
            look=replace(line.look, hollow=True),
            told=[plus_minus(number, None)],
            listed=False,
        )
        for place, (number, line) in enumerate(sorted(known, key=lambda pair: pair[0]))
    ]

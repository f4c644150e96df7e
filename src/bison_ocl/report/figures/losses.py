"""The training loss over the stream, mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bison_ocl.report.figures.curves import MOST_BANDS
from bison_ocl.report.figures.drawing.grid import DEVIATION, grid, legend, note
from bison_ocl.report.figures.drawing.panels import Line, panels
from bison_ocl.report.figures.drawing.style import common_look, plotted
from bison_ocl.report.study.entry import Entry, own
from bison_ocl.report.study.groups import NotShown, deviation, mean
from bison_ocl.report.study.labels import label_of

NOTE = "Mean over runs. Methods minimise different functions: compare shapes, not levels."


@common_look()
def losses(item: str, records: Sequence[Entry]) -> Figure:
    """One panel a stream and memory, one line a method."""
    known = [record for record in own(records) if record.losses]
    if not known:
        raise NotShown("no losses in the records")
    shown = panels(known, label_of(item))
    bands = all(len(panel.lines) <= MOST_BANDS for panel in shown)
    figure, places = grid(len(shown))
    for panel, axes in zip(shown, places, strict=True):
        for line in panel.lines:
            draw(axes, line, bands)
        axes.set(xlabel="steps", ylabel="loss", title=panel.title)
        axes.grid(axis="y")
    legend(figure, (line for panel in shown for line in panel.lines))
    note(figure, NOTE, DEVIATION * bands)
    return figure


def draw(axes: Axes, line: Line, band: bool) -> None:
    """The mean of the seeds that were measured at the same steps as the first."""
    curves = [record.losses for record in line.group.records if record.losses]
    steps = curves[0].steps
    alike = [curve.loss for curve in curves if curve.steps == steps]
    values = np.array(alike, np.float64)  # None, once training has diverged, becomes NaN
    middle, std = mean(values), deviation(values)
    look = plotted(line.look) | {"marker": "", "linewidth": 1.0}
    axes.plot(steps, middle, label=line.title, **look)
    if band and len(values) > 1:
        axes.fill_between(
            steps, middle - std, middle + std, color=line.look.colour, alpha=0.13, lw=0
        )

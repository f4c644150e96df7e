"""The training loss over the stream, mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bison_ocl.experiments.records.record import Losses
from bison_ocl.report.figures.chart import Axis, Chart, NotShown, Series
from bison_ocl.report.figures.curves import bands, curve
from bison_ocl.report.figures.panels import Line, Panel, own

NOTE = "Mean over runs. Methods minimise different functions: compare shapes, not levels."


def losses(panels: Sequence[Panel]) -> list[Chart]:
    """One line per method that recorded its loss; a note names the others."""
    found = [chart for panel in own(panels) if (chart := of(panel)).series]
    if not found:
        raise NotShown("no losses in the records")
    return found


def of(panel: Panel) -> Chart:
    drawn = [series(line, kept) for line in panel.lines if (kept := recorded(line))]
    without = [line.title for line in panel.lines if not recorded(line)]
    missing = [f"No loss was recorded for {', '.join(without)}."] if without else []
    notes = [NOTE, *bands(drawn), *missing]
    return Chart(panel.title, Axis("steps"), Axis("loss"), drawn, notes=notes)


def recorded(line: Line) -> list[Losses]:
    """The losses of the seeds that were measured at the same steps as the first."""
    found = [record.losses for record in line.group.records if record.losses]
    return [one for one in found if one.steps == found[0].steps]


def series(line: Line, kept: Sequence[Losses]) -> Series:
    values = np.array([one.loss for one in kept], np.float64)  # None, once diverged, becomes NaN
    return replace(curve(line, values, 3, marker="", width=1.0), x=kept[0].steps, told=())

"""Interplay of forgetting and intransigence, coloured by accuracy (paper, Fig. 1 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bison_ocl.report.figures.drawing.grid import AF_CONVENTION, grid, lay_out, note
from bison_ocl.report.figures.drawing.panels import Line, Panel, panels
from bison_ocl.report.figures.drawing.point_names import name_points
from bison_ocl.report.figures.drawing.style import common_look
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Floats, NotShown, grouped
from bison_ocl.report.study.labels import label_of

METRICS = ("AI", "AF_table", "AA")
"""x, y and colour"""
NOTE = "Means over runs; bottom left is best."
CROSSES = "Crosses: the paper's numbers."


@common_look()
def interplay(item: str, records: Sequence[Entry]) -> Figure:
    """One panel a stream and memory, one point a method: x = AI, y = AF, colour = AA."""
    known = [record for group in grouped(records) if group.has("AI") for record in group.records]
    if not known:
        raise NotShown("no run has AI: FINE-TUNE did not run on the same streams")
    shown = panels(known, label_of(item))
    figure, places = grid(len(shown), width=5.0, height=4.1)
    for panel, axes in zip(shown, places, strict=True):
        draw(figure, axes, item, panel)
    compared = any(len(paper(item, panel)) for panel in shown)
    note(figure, NOTE, AF_CONVENTION, CROSSES * compared)
    lay_out(figure)
    for panel, axes in zip(shown, places, strict=True):
        first = sorted(panel.lines, key=lambda line: not line.label.main)  # has the choice of place
        points = [position(line)[:2] for line in first]
        name_points(
            figure, axes, points, [line.title for line in first], around=paper(item, panel)[:, :2]
        )
    return figure


def draw(figure: Figure, axes: Axes, item: str, panel: Panel) -> None:
    """The points of a panel and, as small crosses tied to them, the paper's."""
    shades = [*ours(panel)[:, 2], *paper(item, panel)[:, 2]]
    scale: dict[str, Any] = {"cmap": "viridis_r", "vmin": min(shades), "vmax": max(shades) + 1e-9}
    x, y, colour = ours(panel).T
    points = axes.scatter(
        x, y, c=colour, s=95, edgecolor="black", linewidth=0.7, zorder=4, label="ours", **scale
    )
    for line in panel.lines:
        if (theirs := paper_position(item, line)) is not None:
            ends = np.array([position(line), theirs])
            axes.plot(ends[:, 0], ends[:, 1], color="#BBBBBB", linewidth=0.8, zorder=1)
    if len(paper(item, panel)):
        x, y, colour = paper(item, panel).T
        axes.scatter(x, y, c=colour, marker="x", s=22, linewidth=1.3, label="paper", **scale)
    for zero in (axes.axhline, axes.axvline):
        zero(0, color="#999999", linewidth=0.8, zorder=0)
    axes.margins(0.14)
    axes.grid()
    axes.set(xlabel="AI: intransigence (%)", ylabel="AF: forgetting (%)", title=panel.title)
    figure.colorbar(points, ax=axes, label="AA (%)", pad=0.02)


def ours(panel: Panel) -> Floats:
    """AI, AF and AA of each line, in percent [lines, 3]."""
    return np.array([position(line) for line in panel.lines])


def paper(item: str, panel: Panel) -> Floats:
    """The same of the lines that the paper has [known, 3]."""
    found = [point for line in panel.lines if (point := paper_position(item, line)) is not None]
    return np.array(found).reshape(-1, len(METRICS))


def position(line: Line) -> list[float]:
    return [float(line.group.percent(metric).mean()) for metric in METRICS]


def paper_position(item: str, line: Line) -> list[float] | None:
    found = [line.printed(item, metric) for metric in METRICS]
    known = [number for number in found if number is not None]
    return known if len(known) == len(METRICS) else None

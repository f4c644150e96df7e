"""Charts as one Matplotlib figure: panels row by row, one legend for all, notes below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bison_ocl.look import GREY
from bison_ocl.report.figures.chart import Chart, Series
from bison_ocl.report.figures.drawing.panel import draw, keep_title_inside, name_points
from bison_ocl.report.figures.drawing.style import common_look, plotted
from bison_ocl.report.figures.short_names import with_short_names

MOST_COLUMNS = 3
WIDTH, HEIGHT = 4.8, 3.8
"""of a panel, in inches"""
ROW = 0.29
"""of a panel with a name per row"""
FEW = 5
"""entries of a legend that fit above one panel"""
PER_INCH = 15
"""characters of a note"""


@common_look()
def figure(charts: Sequence[Chart], width: float | None = None) -> Figure:
    """The charts as panels of one figure. width: in inches, instead of 4.8 per panel."""
    charts = with_short_names(charts)
    made, places = grid(charts, width)
    for chart, axes in zip(charts, places, strict=True):
        draw(made, axes, with_common_shades(chart, charts))
    share_limits(charts, places)
    legend(made, [one for chart in charts for one in chart.series if one.listed], width)
    notes = dict.fromkeys(note for chart in charts for note in chart.notes)
    text = fill(" ".join(notes), int(PER_INCH * made.get_figwidth()))
    made.supxlabel(text, fontsize=8, color=GREY)
    lay_out(made)
    for chart, axes in zip(charts, places, strict=True):
        keep_title_inside(axes)
        name_points(axes, chart.series)
    return made


def grid(charts: Sequence[Chart], width: float | None) -> tuple[Figure, list[Axes]]:
    """An empty figure with a place for each chart."""
    fit = MOST_COLUMNS if width is None else max(1, round(width / WIDTH))
    columns = 2 if len(charts) == 4 and fit > 2 else min(len(charts), fit)
    rows = -(-len(charts) // columns)
    size = (width or WIDTH * columns, max(map(height, charts)) * rows)
    made = Figure(figsize=size, layout="constrained")
    places: list[Axes] = made.subplots(rows, columns, squeeze=False).flatten().tolist()
    for spare in places[len(charts) :]:
        spare.set_axis_off()
    return made, places[: len(charts)]


def height(chart: Chart) -> float:
    """Room for each row of an axis of names; a map of as many rows as columns is square."""
    if chart.map is not None:
        return WIDTH if len(chart.x.names) == len(chart.y.names) else HEIGHT
    return 1.3 + ROW * len(chart.y.names) if chart.y.names else HEIGHT


# --- scales that panels share ---


def with_common_shades(chart: Chart, charts: Sequence[Chart]) -> Chart:
    """The chart with the range of the shades of all charts of its scale."""
    alike = [one for one in charts if one is chart or (one.scale and one.scale == chart.scale)]
    shades = [s.shade for one in alike for s in one.series if s.shade is not None]
    return replace(chart, shades=(min(shades), max(shades))) if shades else chart


def share_limits(charts: Sequence[Chart], places: Sequence[Axes]) -> None:
    """Give panels of one scale the widest limits of them all."""
    scales: dict[str, list[Axes]] = {}
    for chart, axes in zip(charts, places, strict=True):
        if chart.scale:
            scales.setdefault(chart.scale, []).append(axes)
    for alike in scales.values():
        x, y = [axes.get_xlim() for axes in alike], [axes.get_ylim() for axes in alike]
        for axes in alike:
            axes.set_xlim(min(low for low, _ in x), max(high for _, high in x))
            axes.set_ylim(min(low for low, _ in y), max(high for _, high in y))


# --- legend ---


def legend(made: Figure, series: Sequence[Series], width: float | None) -> None:
    """Each name once, in order; above the panels, or right of a single one that has many."""
    unshaded = {one.name: one for one in series if one.shade is None}
    listed = sorted(unshaded.values(), key=lambda one: one.order)
    if not listed:
        return
    handles = [handle(one) for one in listed]
    entry = 0.55 + 0.08 * max(len(one.name) for one in listed)
    if len(made.axes) == 1 and len(handles) > FEW and width is None:
        made.set_figwidth(made.get_figwidth() + entry)
        made.legend(handles=handles, loc="outside right upper")
    else:
        columns = max(1, int(made.get_figwidth() / entry))
        made.legend(handles=handles, loc="outside upper center", ncols=columns)


def handle(series: Series) -> Line2D | Patch:
    if series.kind == "bar":
        return Patch(color=series.look.colour, label=series.name)
    alone = {"linestyle": ""} if series.kind == "points" else {}
    return Line2D([], [], label=series.name, **plotted(series.look) | alone)


def lay_out(made: Figure) -> None:
    """Find the places of all panels, once: saving, in whatever format, does not move them."""
    engine = made.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.execute(made)
        made.set_layout_engine("none")

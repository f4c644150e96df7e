"""Charts as one Matplotlib figure: panels row by row, one legend for all, notes below."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bison_ocl.look import GREY
from bison_ocl.report.figures.chart import Chart, Series
from bison_ocl.report.figures.drawing.panel import draw
from bison_ocl.report.figures.drawing.point_names import name_points
from bison_ocl.report.figures.drawing.style import common_look, plotted

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
def figure(charts: Sequence[Chart]) -> Figure:
    """The charts as panels of one figure."""
    made, places = grid(charts)
    for chart, axes in zip(charts, places, strict=True):
        draw(made, axes, chart)
    legend(made, [one for chart in charts for one in chart.series if one.listed])
    notes = dict.fromkeys(note for chart in charts for note in chart.notes)
    text = fill(" ".join(notes), int(PER_INCH * made.get_figwidth()))
    made.supxlabel(text, fontsize=8, color=GREY)
    lay_out(made)
    for chart, axes in zip(charts, places, strict=True):
        name_points(made, axes, [one for one in chart.series if one.kind == "points"])
    return made


def grid(charts: Sequence[Chart]) -> tuple[Figure, list[Axes]]:
    """An empty figure with a place for each chart."""
    columns = 2 if len(charts) == 4 else min(len(charts), MOST_COLUMNS)
    rows = -(-len(charts) // columns)
    size = (WIDTH * columns, max(map(height, charts)) * rows)
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


def legend(made: Figure, series: Sequence[Series]) -> None:
    """Each name once; above the panels, or beside a single one that has many."""
    listed = {one.name: one for one in series if one.shade is None}
    if not listed:
        return
    handles = [handle(one) for one in listed.values()]
    entry = 0.55 + 0.08 * max(map(len, listed))
    if len(made.axes) == 1 and len(handles) > FEW:
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

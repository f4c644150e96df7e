"""One chart on Matplotlib's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullLocator

from bison_ocl.look import GREY, VERMILION
from bison_ocl.report.figures.chart import Axis, Chart, Frame, Guide, Map, Series
from bison_ocl.report.figures.curves import MOST_BANDS
from bison_ocl.report.figures.drawing.style import DARK, plotted
from bison_ocl.report.figures.point_names import named, offsets
from bison_ocl.report.figures.short_names import NAME, shortened

THICK = 0.7
"""of a bar, in rows"""
TITLE = 60
"""characters of a line of a title that have room"""
EDGE = 0.01
"""of a column, beside a title"""
CENTRED: dict[str, Any] = {"horizontalalignment": "center", "verticalalignment": "center"}
FRAMES: dict[str, dict[str, Any]] = {
    "largest error": {
        "edgecolor": "white",
        "linewidth": 1.8,
        "path_effects": [withStroke(linewidth=3, foreground="#333333")],  # seen on bright cells
        "zorder": 3,
    },
    "similar pair": {"edgecolor": "#FFB000", "linewidth": 1.0, "linestyle": "--"},
    "best": {"edgecolor": VERMILION, "linewidth": 2},
    "paper's choice": {"edgecolor": VERMILION, "linewidth": 2, "linestyle": "--"},
}
INSIDE = {"best": 0.05, "paper's choice": 0.12}
"""how far a frame lies within its cells; a dashed one fits into a solid one"""


def draw(figure: Figure, axes: Axes, chart: Chart) -> None:
    """Everything but the names of points, which need the layout."""
    if chart.map is not None:
        draw_map(figure, axes, chart.map, chart.x.names)
    curves = sum(one.kind == "curve" for one in chart.series)
    known = [one.shade for one in chart.series if one.shade is not None]
    shades = chart.shades or (min(known, default=0), max(known, default=0))
    for one in chart.series:
        if one.kind == "bar":
            bar(axes, one)
        elif one.shade is not None:
            shaded(axes, one, shades)
        else:
            line(axes, one, band=curves <= MOST_BANDS)
    if known:
        first = next(one for one in axes.collections if one.get_label() == "ours")
        figure.colorbar(first, ax=axes, label=chart.shade, pad=0.02)
    for guide in chart.guides:
        draw_guide(axes, guide)
    describe(axes, chart)


def draw_guide(axes: Axes, guide: Guide) -> None:
    """Lines across the panel; the upright one with its text."""
    across: dict[str, Any] = {"color": "#AAAAAA", "linestyle": guide.dashes, "linewidth": 0.8}
    if guide.y is not None:
        axes.axhline(guide.y, zorder=0, **across)
    if guide.x is None:
        return
    axes.axvline(guide.x, zorder=0, **across)
    if guide.text:  # an empty text outside the panel would take room
        end = {"y": 0.97, "va": "top"} if guide.at_top else {"y": 0.03, "va": "bottom"}
        look: dict[str, Any] = {"fontsize": 8, "color": GREY, **end}
        axes.text(guide.x, s=f" {guide.text}", transform=axes.get_xaxis_transform(), **look)


def describe(axes: Axes, chart: Chart) -> None:
    lines = [shortened(line, TITLE) for line in chart.title.split("\n")]
    axes.set_title("\n".join(lines), fontsize=9 if len(lines) > 1 else None)
    label(axes.xaxis, chart.x)
    label(axes.yaxis, chart.y)
    axes.set_xlim(*chart.x.limits)
    axes.set_ylim(*chart.y.limits)
    if chart.y.names and chart.map is None:
        axes.set_ylim(len(chart.y.names) - 0.5, -0.5)
    if chart.map is None:
        axes.grid(axis="x" if chart.y.names else "y" if not chart.shade else "both")


def keep_title_inside(axes: Axes) -> None:
    """Move a title that would leave its column of the figure, or cut it; the layout must be done.

    A panel with long names of rows lies at the right of its column.
    """
    place, figure = axes.get_subplotspec(), axes.figure
    assert place is not None
    wide = figure.get_window_extent().width / place.get_gridspec().ncols
    left, room = (place.colspan.start + EDGE) * wide, (1 - 2 * EDGE) * wide
    lines, title = axes.get_title().split("\n"), axes.title.get_window_extent().width
    if title > room:
        fits = int(max(map(len, lines)) * room / title) - 1
        axes.title.set_text("\n".join(shortened(line, fits) for line in lines))
    half, panel = axes.title.get_window_extent().width / 2, axes.get_window_extent()
    middle = min(max(panel.x0 + panel.width / 2, left + half), left + room - half)
    axes.title.set_x((middle - panel.x0) / panel.width)


def label(axis: Any, described: Axis) -> None:
    """Name an axis and its ticks."""
    axis.set_label_text(described.label)
    if described.log:
        axis._set_axes_scale("log", base=2)
        axis.set_minor_locator(NullLocator())
    if described.names:
        axis.set_ticks(range(len(described.names)), map(folded, described.names))
    elif described.ticks:
        axis.set_ticks(described.ticks, [f"{tick:g}" for tick in described.ticks])


def line(axes: Axes, one: Series, band: bool) -> None:
    """A line or points, with its deviation as a band or as error bars."""
    look = plotted(one.look) | {"label": one.name, "zorder": 2 + one.look.width}
    if one.kind == "points":
        look["linestyle"] = ""
    if one.kind == "curve" or not (len(one.x_error) or len(one.y_error)):
        axes.plot(one.x, one.y, **look)
    else:
        error: dict[str, Any] = {"xerr": one.x_error or None, "yerr": one.y_error or None}
        axes.errorbar(one.x, one.y, elinewidth=1, **error, **look)
    if one.kind == "curve" and band and len(one.y_error):
        middle, std = np.array(one.y), np.array(one.y_error)
        ends = middle - std, middle + std
        axes.fill_between(one.x, *ends, color=one.look.colour, alpha=0.13, linewidth=0)


def shaded(axes: Axes, one: Series, shades: tuple[float, float]) -> None:
    """Points whose colour is a number: ours with error bars, the paper's as crosses."""
    scale: dict[str, Any] = {"cmap": "viridis_r", "vmin": shades[0], "vmax": shades[1] + 1e-9}
    if one.look.marker == "x":
        look: dict[str, Any] = {"marker": "x", "s": 22, "linewidth": 1.3}
    else:
        look = {"s": 95, "edgecolor": "black", "linewidth": 0.7, "zorder": 4}
        error: dict[str, Any] = {"xerr": one.x_error, "yerr": one.y_error}
        axes.errorbar(one.x, one.y, fmt="none", ecolor=GREY, elinewidth=0.8, capsize=0, **error)
    axes.scatter(one.x, one.y, c=np.array([one.shade]), label=one.name, **look, **scale)


def bar(axes: Axes, one: Series) -> None:
    """A bar from left to right, with its text at the end."""
    hollow = one.look.hollow
    dashed = one.look.dashes != "-" and not hollow
    axes.barh(
        one.y,
        one.x,
        THICK,
        one.start,
        label=one.name,
        color="white" if hollow else one.look.colour,
        edgecolor="white" if dashed else one.look.colour,
        hatch="///" if hollow or dashed else None,
        linewidth=0 if dashed else 1,
    )
    end = one.start + one.x[0]
    error = one.x_error[0] if one.x_error else 0.0
    if error:
        axes.errorbar([end], one.y, xerr=[error], fmt="none", ecolor=DARK, elinewidth=0.9)
    if one.text:
        axes.margins(x=0.35)
        axes.text(end + error, one.y[0], f" {one.text}", va="center", fontsize=8)


def draw_map(figure: Figure, axes: Axes, shown: Map, names: Sequence[str]) -> None:
    """Shades with their numbers, and frames."""
    values = np.ma.masked_invalid(np.array(shown.values, np.float64))
    lowest = None if shown.label else 0
    colours = "viridis_r" if shown.dark_is_high else "viridis"
    image = axes.imshow(values, cmap=colours, vmin=lowest, aspect="auto")
    few = len(values) <= 12
    size = 7.5 if few else 4.5
    for (row, column), value in np.ndenumerate(values.filled(np.nan)):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.to_rgba(np.array([value]))[0]
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
        text = f"{value:.{shown.decimals}f}"
        axes.text(column, row, text, fontsize=size, color=ink, **CENTRED)
    for frame in shown.frames:
        axes.add_patch(outline(frame))
    axes.tick_params("x", rotation=90 if any(len(name) > 5 for name in names) else 0)
    axes.tick_params(length=0)
    if not few:
        axes.tick_params(labelsize=6)  # a row is hardly higher
    axes.spines[:].set_visible(False)
    if shown.label:
        figure.colorbar(image, ax=axes, label=shown.label, pad=0.02)


def outline(frame: Frame) -> Rectangle:
    inside = INSIDE.get(frame.kind, 0.04)
    size = frame.size - 2 * inside
    corner = (frame.column - 0.5 + inside, frame.row - 0.5 + inside)
    made = Rectangle(corner, size, size, fill=False, label=frame.kind, **FRAMES[frame.kind])
    made.set_clip_on(False)  # at the edge, half of it lies outside
    return made


def name_points(axes: Axes, points: Sequence[Series]) -> None:
    """Write the names of points, clear of all points; the layout must be done."""
    box = axes.get_window_extent()
    inches = [side / axes.figure.get_dpi() for side in (box.width, box.height)]
    ways = offsets(points, axes.get_xlim(), axes.get_ylim(), *(72 * side for side in inches))
    for one, (across, up, tied) in zip(named(points), ways, strict=True):
        label = axes.annotate(
            one.text,
            (one.x[0], one.y[0]),
            xytext=(across, up),
            textcoords="offset points",
            fontsize=8.5,
            bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.3},  # over lines
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6} if tied else None,
            zorder=5,
            **CENTRED,
        )
        label.set_in_layout(False)  # it was placed in the layout there is


def folded(name: str) -> str:
    """A name that is too long for one line in two, parted at the space nearest to its middle."""
    spaces = [place for place, sign in enumerate(name) if sign == " "]
    if len(name) <= NAME or not spaces:
        return name
    middle = min(spaces, key=lambda place: abs(place - len(name) / 2))
    return f"{name[:middle]}\n{name[middle + 1 :]}"

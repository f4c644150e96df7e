"""A chart as Plotly draws it: traces and layout in JSON; the page adds the colours of its theme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from bison_ocl.look import Look
from bison_ocl.report.figures.chart import Axis, Chart, Guide, Series
from bison_ocl.report.figures.point_names import named, offsets
from bison_ocl.report.figures.short_names import with_short_names

Json = dict[str, Any]
SYMBOLS = {
    "8": "octagon",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "D": "diamond",
    "d": "diamond-tall",
    "P": "cross",
    "X": "x",
    "x": "x-thin-open",
    "p": "pentagon",
    "h": "hexagon",
    "*": "star-triangle-down",
    (5, 1, 0): "star",
    (6, 1, 0): "hexagram",
    (3, 1, 0): "star-triangle-up",
    (4, 1, 0): "star-diamond",
    (8, 1, 0): "star-square",
}
"""Matplotlib's markers by Plotly's names; others become circles"""
DASHES = {"--": "dash", "-.": "dashdot", ":": "dot"}
EDGE = {"width": 0.8}
DIGITS = 4
"""kept of a number: printed numbers are rounded once only"""
WIDE, NARROW = (850, 340), (260, 320)
"""sizes of a panel with named points, in pixels: on a desk and on a phone"""


def figure(chart: Chart) -> Json:
    """Traces and layout. `meta` holds the method whose box switches a trace, and its band."""
    (chart,) = with_short_names([chart])
    guides = [label(guide) for guide in chart.guides if guide.text]
    layout = {
        "xaxis": axis(chart.x),
        "yaxis": axis(chart.y) | (ROWS if chart.y.names else {}),
        "shapes": [line_of(guide) for guide in chart.guides],
        "annotations": [*guides, *names(chart, *WIDE)],
        "coloraxis": {"colorbar": {"title": {"text": plain(chart.shade)}}},
    }
    traces = [trace(one, chart) for one in chart.series]
    return {"data": traces, "layout": layout, "narrow": [*guides, *names(chart, *NARROW)]}


def trace(one: Series, chart: Chart) -> Json:
    """The points of a series."""
    x, y = numbers(one.x), numbers(one.y)
    shared = {
        "name": plain(one.name),
        "meta": {"method": one.method},
        "x": x,
        "y": [plain(chart.y.names[round(at)]) for at in one.y] if chart.y.names else y,
        **hover(one, chart),
    }
    if not one.listed or one.shade is not None:
        shared["showlegend"] = False
    if one.kind == "curve":
        shared["meta"] = {"method": one.method, "band": numbers(one.y_error)}
    else:
        errors = {"error_x": one.x_error, "error_y": one.y_error}
        shared |= {name: error(values) for name, values in errors.items() if any(values)}
    if one.kind == "bar":
        colour = {"color": one.look.colour}
        return shared | {"type": "bar", "orientation": "h", "base": one.start, "marker": colour}
    marked = {"marker": marker(one)} if one.look.marker else {}
    if one.kind == "points":
        return shared | {"mode": "markers", **marked}
    line = {"color": one.look.colour, "dash": dash(one.look), "width": one.look.width}
    return shared | {"mode": "lines" + "+markers" * bool(marked), "line": line, **marked}


def marker(one: Series) -> Json:
    symbol = SYMBOLS.get(one.look.marker, "circle") + "-open" * one.look.hollow
    if one.shade is None:
        return {"symbol": symbol, "size": 8, "color": one.look.colour}
    shade = {"color": [round(one.shade, DIGITS)], "coloraxis": "coloraxis"}
    cross = one.look.marker == "x"
    return {"symbol": symbol, "size": 8, **shade} | ({} if cross else {"size": 14, "line": EDGE})


def dash(look: Look) -> str:
    return DASHES.get(look.dashes, "solid")


def hover(one: Series, chart: Chart) -> Json:
    """The number under the mouse, as tables print it; nothing for what has none."""
    if not one.hover and one.kind != "curve":
        return {"hoverinfo": "skip"}
    name = one.text if one.kind == "points" and one.text else one.name
    at = f" ({plain(chart.x.label)} %{{x}})" if one.kind == "curve" else ""
    number = "%{customdata}" if one.hover else "%{y}"
    template = f"{plain(name)}{at}<br>{number}<extra></extra>"
    return {"customdata": [plain(text) for text in one.hover], "hovertemplate": template}


def error(values: Sequence[float]) -> Json:
    return {"type": "data", "array": numbers(values)}


ROWS = {"type": "category", "categoryorder": "array", "autorange": "reversed", "showgrid": False}
"""an axis of names, the first on top"""


def axis(described: Axis) -> Json:
    low, high = described.limits
    made: Json = {"title": {"text": plain(described.label)}}
    if described.ticks:
        texts = [f"{tick:g}" for tick in described.ticks]  # Plotly would write 100µ on a log axis
        made |= {"tickvals": list(described.ticks), "ticktext": texts}
    if described.log:
        made["type"] = "log"
    if low is not None and high is not None:
        made["range"] = numbers([low, high])
    elif low == 0:
        made["rangemode"] = "tozero"
    return made


def line_of(guide: Guide) -> Json:
    """A guide across the chart."""
    ends = (
        {"xref": "paper", "x0": 0, "x1": 1, "y0": guide.y, "y1": guide.y}
        if guide.x is None
        else {"yref": "paper", "y0": 0, "y1": 1, "x0": guide.x, "x1": guide.x}
    )
    dashes = "solid" if guide.dashes == "-" else "dot"
    return {"type": "line", "layer": "below", "line": {"width": 0.8, "dash": dashes}, **ends}


def label(guide: Guide) -> Json:
    end = {"y": 1, "yanchor": "top"} if guide.at_top else {"y": 0, "yanchor": "bottom"}
    at = {"x": guide.x, "yref": "paper", "xanchor": "left", **end}
    return {"showarrow": False, "text": plain(guide.text), **at}


def names(chart: Chart, wide: float, tall: float) -> list[Json]:
    """Labels of named points, placed as in the figures; a line ties a distant one."""
    limits = [limit for limit in (*chart.x.limits, *chart.y.limits) if limit is not None]
    if not chart.shade or len(limits) < 4:
        return []
    left, right, bottom, top = limits
    ways = offsets(chart.series, (left, right), (bottom, top), 0.75 * wide, 0.75 * tall)
    found = []
    for one, (across, up, tied) in zip(named(chart.series), ways, strict=True):
        way = [round(across / 0.75), round(-up / 0.75)]  # in pixels, downwards
        shift = {"ax": way[0], "ay": way[1]} if tied else {"xshift": way[0], "yshift": -way[1]}
        at = {"x": round(one.x[0], DIGITS), "y": round(one.y[0], DIGITS), "showarrow": tied}
        found.append({"text": plain(one.text), "name": one.method, **at, **shift})
    return found


def numbers(values: Sequence[float]) -> list[float | None]:
    """Rounded, NaN as null."""
    return [round(one, DIGITS) if math.isfinite(one) else None for one in values]


def plain(text: str) -> str:
    """Text that Plotly shows as it is: no tags, and no formulas between dollars."""
    return escape(text).replace("$", "&#36;").replace("\n", "<br>")

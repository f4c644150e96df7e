"""A chart as a value: Matplotlib draws it into files, Plotly on the page, from the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bison_ocl.look import Look

Numbers = Sequence[float]
"""NaN where there is none."""
Kind = Literal["curve", "line", "points", "bar"]


class NotShown(ValueError):
    """Why records do not make a chart."""


@dataclass(frozen=True)
class Axis:
    """What an axis measures."""

    label: str = ""
    names: Sequence[str] = ()
    """of the places 0, 1, 2, … on an axis of names"""
    ticks: Numbers = ()
    limits: tuple[float | None, float | None] = (None, None)
    log: bool = False


@dataclass(frozen=True)
class Series:
    """What is drawn in one look.

    A curve is a line with a band of one deviation; a line has error bars.
    """

    name: str
    look: Look
    x: Numbers
    y: Numbers
    kind: Kind = "curve"
    method: str = ""
    """by which the page's boxes switch it on and off"""
    x_error: Numbers = ()
    y_error: Numbers = ()
    start: float = 0
    """of a bar"""
    shade: float | None = None
    """its place on the chart's colour scale"""
    text: str = ""
    """written beside it"""
    told: Sequence[str] = ()
    """the number of each point, as tables print it"""
    listed: bool = True
    """in the legend"""


@dataclass(frozen=True)
class Frame:
    """An outlined square of a map, `size` cells wide."""

    row: int
    column: int
    kind: Literal["largest error", "similar pair", "best", "paper's choice"]
    size: int = 1


@dataclass(frozen=True)
class Map:
    """Numbers in rows and columns, shown as shades."""

    values: Sequence[Numbers]
    decimals: int = 1
    frames: Sequence[Frame] = ()
    label: str = ""
    """of the colour scale; none is drawn without"""
    dark_is_high: bool = False


@dataclass(frozen=True)
class Guide:
    """A thin line across the chart, at an x or at a y."""

    x: float | None = None
    y: float | None = None
    text: str = ""
    dashes: str = "-"


@dataclass(frozen=True)
class Chart:
    """One panel of a figure, or one chart of the page."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series] = ()
    map: Map | None = None
    method: str = ""
    """of a map: by which the page's boxes switch it on and off"""
    shade: str = ""
    """what the colours of series mean, where they have a shade"""
    guides: Sequence[Guide] = ()
    notes: Sequence[str] = ()
    """what a reader must know, each a sentence"""

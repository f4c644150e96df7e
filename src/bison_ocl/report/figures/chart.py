"""A chart as a value, which Matplotlib draws into files and Plotly on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bison_ocl.look import Look

Numbers = Sequence[float]
"""NaN where there is none."""
Kind = Literal["curve", "line", "points", "bar"]


class NotShown(ValueError):
    """The reason why records make no chart."""


@dataclass(frozen=True)
class Axis:
    """Label, ticks and limits of an axis."""

    label: str = ""
    names: Sequence[str] = ()
    """of the positions 0, 1, 2, … on an axis of names"""
    ticks: Numbers = ()
    limits: tuple[float | None, float | None] = (None, None)
    log: bool = False


@dataclass(frozen=True)
class Series:
    """Points that are drawn in one look.

    A curve is a line with a band of one standard deviation; a line has error bars.
    """

    name: str
    look: Look
    x: Numbers
    y: Numbers
    kind: Kind = "curve"
    method: str = ""
    """whose box on the page switches it on and off"""
    x_error: Numbers = ()
    y_error: Numbers = ()
    start: float = 0
    """of a bar"""
    shade: float | None = None
    """its place on the chart's colour scale"""
    text: str = ""
    """its label on the chart"""
    hover: Sequence[str] = ()
    """the number of each point, as tables print it"""
    listed: bool = True
    """in the legend"""
    order: float = 0
    """its rank in the legend"""


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
    """at the bottom of a line at an x"""
    at_top: bool = False
    """the text at the top instead"""
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
    """of a map: whose box on the page switches it on and off"""
    shade: str = ""
    """the label of the colour scale, where series have a shade"""
    shades: tuple[float, float] | None = None
    """limits of the colour scale, if not those of the series"""
    scale: str = ""
    """charts of one figure with the same scale share limits and colours"""
    guides: Sequence[Guide] = ()
    notes: Sequence[str] = ()
    """sentences below the figure"""

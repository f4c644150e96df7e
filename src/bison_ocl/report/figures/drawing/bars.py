"""Bars side by side, with their deviation and the paper's number as a line across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bison_ocl.look import Look
from bison_ocl.report.study.groups import Floats, deviation, mean

WIDTH = 0.84
"""of all bars of a tick together"""
PAPER: dict[str, Any] = {"color": "black", "linewidth": 2.0, "solid_capstyle": "butt", "zorder": 4}


@dataclass(frozen=True)
class Bar:
    """One bar at each tick."""

    title: str
    look: Look
    values: Floats
    """[seeds, ticks]"""
    paper: Sequence[float | None] = ()
    """what the paper prints at each tick"""


def beside(axes: Axes, bars: Sequence[Bar]) -> None:
    """All bars of a tick around it."""
    width = WIDTH / len(bars)
    for place, bar in enumerate(bars):
        x = np.arange(bar.values.shape[1]) + (place - (len(bars) - 1) / 2) * width
        std = deviation(bar.values) if len(bar.values) > 1 else None
        axes.bar(
            x,
            mean(bar.values),
            width * 0.92,
            yerr=std,
            label=bar.title,
            color=bar.look.colour if not bar.look.hollow else "white",
            edgecolor=bar.look.colour,
            hatch="///" if bar.look.hollow or bar.look.dashes != "-" else None,
            error_kw={"elinewidth": 0.9, "ecolor": "#444444"},
        )
        for centre, number in zip(x, bar.paper, strict=False):
            if number is not None:
                ends = [centre - width * 0.46, centre + width * 0.46]
                axes.plot(ends, [number, number], label="_paper", **PAPER)
    axes.grid(axis="y")
    axes.axhline(0, color="#444444", linewidth=0.8)


def bar_legend(figure: Figure, axes: Axes, bars: Sequence[Bar]) -> None:
    """Above all panels, with an entry for the paper's numbers where there are any."""
    handles, _ = axes.get_legend_handles_labels()
    if any(number is not None for bar in bars for number in bar.paper):
        handles.append(Line2D([], [], label="paper", **PAPER))
    longest = max(len(bar.title) for bar in bars)
    columns = int(figure.get_figwidth() / (0.6 + 0.085 * longest))
    figure.legend(handles=handles, loc="outside upper center", ncols=max(1, columns))

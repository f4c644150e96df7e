"""Weights of BISON's losses: accuracy and balance over a grid of β and λ (paper, Fig. A2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bison_ocl.look import VERMILION
from bison_ocl.report.figures.drawing.grid import AF_CONVENTION, grid, note
from bison_ocl.report.figures.drawing.panels import Line, Panel, panels
from bison_ocl.report.figures.drawing.style import CENTRED, common_look, ink
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Floats, Group, NotShown, compared
from bison_ocl.report.study.labels import labelled
from bison_ocl.report.study.names import variant
from bison_ocl.report.tables.sensitivity import WEIGHTS

NOTE = (
    "Means over runs. Solid frame: the best cell. Dashed frame: the weights that the paper uses. "
    "Balance: √(max(AI, 0)² + max(AF, 0)²), distance from neither forgetting nor intransigence."
)


@common_look()
def sensitivity(item: str, records: Sequence[Entry]) -> Figure:
    """For each stream and memory a map of AA and, where AI is known, one of balance."""
    shown = [panel for panel in panels(weighted(records), labelled) if len(panel.lines) > 1]
    if not shown:
        raise NotShown("no runs with more than one choice of beta and lambda")
    maps = [one for panel in shown for one in maps_of(panel)]
    figure, places = grid(len(maps), width=5.2, height=3.4, columns=2)
    for one, axes in zip(maps, places, strict=True):
        draw(figure, axes, item, one)
    note(figure, NOTE, AF_CONVENTION)
    return figure


def weighted(records: Sequence[Entry]) -> list[Entry]:
    """Runs that differ from the preset in the two weights alone."""
    return [
        record
        for record in compared(records)
        if set(WEIGHTS) <= record.settings.keys() and not variant(record, shown=WEIGHTS)
    ]


def maps_of(panel: Panel) -> list[Map]:
    found = [Map(panel, "AA (%), higher is better", accuracy, "viridis", np.nanargmax)]
    if all(group.has("AI") for group in panel.groups):
        name = "balance (%), lower is better"
        found.append(Map(panel, name, balance, "viridis_r", np.nanargmin))
    return found


def accuracy(group: Group) -> float:
    return float(group.percent("AA").mean())


def balance(group: Group) -> float:
    """Mean over seeds of the distance to AI = AF = 0; below zero is no better than zero."""
    clipped = [np.maximum(group.percent(metric), 0) for metric in ("AI", "AF_table")]
    return float(np.hypot(*clipped).mean())


@dataclass(frozen=True)
class Map:
    """One number for each β and λ."""

    panel: Panel
    name: str
    measure: Callable[[Group], float]
    colours: str
    """bright is good"""
    best: Callable[[Floats], np.intp]

    @cached_property
    def betas(self) -> list[float]:
        return sorted({line.group.first.settings["beta"] for line in self.panel.lines})

    @cached_property
    def lambdas(self) -> list[float]:
        return sorted({line.group.first.settings["lambda"] for line in self.panel.lines})

    def cell(self, line: Line) -> tuple[int, int]:
        """Row and column."""
        settings = line.group.first.settings
        return self.betas.index(settings["beta"]), self.lambdas.index(settings["lambda"])

    @cached_property
    def values(self) -> Floats:
        """[β, λ]; NaN where nothing was run."""
        found: Floats = np.full((len(self.betas), len(self.lambdas)), np.nan)
        for line in self.panel.lines:
            found[self.cell(line)] = self.measure(line.group)
        return found


def draw(figure: Figure, axes: Axes, item: str, one: Map) -> None:
    image = axes.imshow(one.values, cmap=one.colours, aspect="auto", origin="lower")
    for (row, column), value in np.ndenumerate(one.values):
        if not np.isnan(value):
            colour = ink(image, float(value))
            axes.text(column, row, f"{value:.1f}", fontsize=8, color=colour, **CENTRED)
    frame(axes, *divmod(int(one.best(one.values)), len(one.lambdas)), "-", "best")
    title = one.panel.title
    for line in one.panel.lines:
        if line.label.main:
            row, column = one.cell(line)
            frame(axes, row, column, "--", "paper's choice")
            number = line.printed(item, "AA")
            if number is not None and one.measure is accuracy:
                at = f"β = {one.betas[row]:g}, λ = {one.lambdas[column]:g}"
                title += f"\npaper: {number:g} at {at}"
    axes.set_xticks(range(len(one.lambdas)), [f"{weight:g}" for weight in one.lambdas])
    axes.set_yticks(range(len(one.betas)), [f"{beta:g}" for beta in one.betas])
    axes.set(xlabel="λ (alignment)", ylabel="β (proxy-anchor loss)", title=title)
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label=one.name, pad=0.02)


def frame(axes: Axes, row: int, column: int, dashes: str, label: str) -> None:
    """Around a cell; a dashed frame fits into a solid one."""
    size = 0.9 if dashes == "-" else 0.76
    corner = (column - size / 2, row - size / 2)
    axes.add_patch(
        Rectangle(corner, size, size, fill=False, edgecolor=VERMILION, lw=2, ls=dashes, label=label)
    )

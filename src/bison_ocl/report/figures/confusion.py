"""Confusion matrices, the largest error of each class outlined (paper, Fig. 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from bison_ocl.experiments.records import Record
from bison_ocl.report.figures.class_order import shown_names, shown_order, similar_pairs
from bison_ocl.report.figures.grid import grid
from bison_ocl.report.figures.groups import Floats, NotShown, compared
from bison_ocl.report.figures.panels import Line, panels, place_title, seeds
from bison_ocl.report.figures.style import CENTRED, GREY, common_look, ink

MOST = 24
"""matrices of one figure"""
NOTE = (
    "Test images at the end of training, mean over runs; rows are labels, columns predictions. "
    "White outline: the largest error of a class."
)
PAIRS = " Dashed: pairs of similar classes."


@common_look()
def confusion(records: Sequence[Record]) -> Figure:
    """One matrix an experiment."""
    shown = with_confusion(records)
    if len(shown) > MOST:
        raise NotShown(f"{len(shown)} confusion matrices are too many for one figure")
    figure, places = grid(len(shown), width=4.7, height=4.7)
    for line, axes in zip(shown, places, strict=True):
        draw(axes, line)
    paired = any(similar_pairs(line.group) for line in shown)
    figure.supxlabel(NOTE + PAIRS * paired, fontsize=8, color=GREY)
    return figure


def with_confusion(records: Sequence[Record]) -> list[Line]:
    """Experiments with confusion matrices; of a network that was scored twice, by the other rule.

    The confusion study compares all methods under nearest class mean.
    """
    known = [record for record in compared(records) if record.get("confusion")]
    rescored = {record["method"].partition(" + ")[0] for record in known if record.get("rule")}
    kept = [record for record in known if record["method"] not in rescored]
    if not kept:
        raise NotShown("no confusion matrices in the records (they are kept up to 20 classes)")
    return [line for panel in panels(kept) for line in panel.lines]


def mean_counts(line: Line) -> Floats:
    """Test images at the end of training, mean over seeds, in the order shown [C, C]."""
    order = shown_order(line.group)
    last = np.array([record["confusion"][-1] for record in line.group.records], np.float64)
    return np.asarray(last.mean(0)[np.ix_(order, order)])


def largest_errors(counts: Floats) -> list[tuple[int, int]]:
    """Row and column of each class's largest error, where it has one."""
    errors = counts * (1 - np.eye(len(counts)))
    return [(row, int(errors[row].argmax())) for row in range(len(errors)) if errors[row].any()]


def draw(axes: Axes, line: Line) -> None:
    counts, names = mean_counts(line), shown_names(line.group)
    image = axes.imshow(counts, cmap="viridis", vmin=0)
    size = 7.0 if len(counts) <= 12 else 4.5
    for (row, column), count in np.ndenumerate(counts):
        colour = ink(image, float(count))
        axes.text(column, row, f"{count:.0f}", fontsize=size, color=colour, **CENTRED)
    for row, column in largest_errors(counts):
        outline(axes, row, column, 1, "white", "-", label="largest error")
    for place in range(len(similar_pairs(line.group))):
        outline(axes, 2 * place, 2 * place, 2, "#FFB000", "--", label="similar pair")
    slanted: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    short = max(map(len, names)) <= 3
    axes.set_xticks(range(len(names)), names, **({} if short else slanted))
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set(xlabel="prediction", ylabel="label")
    title = f"{line.title}, {seeds([line.group])}"
    axes.set_title(f"{title}\n{place_title(line.group)}", fontsize=9)


def outline(
    axes: Axes, row: int, column: int, size: int, colour: str, dashes: str, label: str
) -> None:
    """A frame around cells; the dark edge keeps it visible on bright ones."""
    corner = (column - 0.5 + 0.04, row - 0.5 + 0.04)
    frame = Rectangle(
        corner,
        size - 0.08,
        size - 0.08,
        fill=False,
        edgecolor=colour,
        linestyle=dashes,
        label=label,
    )
    frame.set_linewidth(1.8 if size == 1 else 1.0)
    if size == 1:
        frame.set_path_effects([withStroke(linewidth=3, foreground="#333333")])
        frame.set_zorder(3)
    axes.add_patch(frame)

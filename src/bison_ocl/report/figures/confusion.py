"""Confusion matrices, the largest error of each class outlined (paper, Fig. 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from bison_ocl.report.figures.drawing.grid import grid, note
from bison_ocl.report.figures.drawing.panels import Line, panels, place_title, seeds
from bison_ocl.report.figures.drawing.style import CENTRED, common_look, ink
from bison_ocl.report.study.classes import similar_pairs
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Floats, Group, NotShown, compared
from bison_ocl.report.study.labels import label_of
from bison_ocl.report.study.names import class_name

MOST = 24
"""matrices of one figure"""
HALF = 0.5
"""of an image: less is printed as 0"""
NOTE = (
    "Test images at the end of training, mean over runs; rows are labels, columns predictions. "
    "White outline: the most frequent error of a class."
)
PAIRS = "Dashed: pairs of similar classes."


@common_look()
def confusion(item: str, records: Sequence[Entry]) -> Figure:
    """One matrix an experiment."""
    shown = with_confusion(item, records)
    if len(shown) > MOST:
        raise NotShown(f"{len(shown)} confusion matrices are too many for one figure")
    figure, places = grid(len(shown), width=4.7, height=4.7)
    for line, axes in zip(shown, places, strict=True):
        draw(axes, line)
    note(figure, NOTE, PAIRS * any(similar_pairs(line.group.first) for line in shown))
    return figure


def with_confusion(item: str, records: Sequence[Entry]) -> list[Line]:
    """Experiments with confusion matrices; of a network that was scored twice, by the other rule.

    The confusion study compares all methods under nearest class mean.
    """
    known = [record for record in compared(records) if record.confusion]
    rescored = {record.method.partition(" + ")[0] for record in known if record.rule}
    kept = [record for record in known if record.method not in rescored]
    if not kept:
        raise NotShown("no confusion matrices in the records (they are kept up to 20 classes)")
    return [line for panel in panels(kept, label_of(item)) for line in panel.lines]


def shown_order(group: Group) -> list[int]:
    """Similar classes side by side; else as they came, if to all seeds alike; else by id."""
    if pairs := similar_pairs(group.first):
        return [label for pair in pairs for label in pair]
    orders = {tuple(record.class_order) for record in group.records}
    return list(orders.pop()) if len(orders) == 1 else sorted(orders.pop())


def shown_names(group: Group) -> list[str]:
    """The classes in that order, by name where it is known."""
    names = [class_name(group.first.data, label) for label in shown_order(group)]
    return [name.removeprefix("class ") for name in names]


def mean_counts(line: Line) -> Floats:
    """Test images at the end of training, mean over seeds, in the order shown [C, C]."""
    order = shown_order(line.group)
    last = np.array([record.counts[-1] for record in line.group.records], np.float64)
    return np.asarray(last.mean(0)[np.ix_(order, order)])


def largest_errors(counts: Floats) -> list[tuple[int, int]]:
    """Row and column of each class's most frequent error, where it is not printed as 0."""
    errors = counts * (1 - np.eye(len(counts)))
    return [(row, int(line.argmax())) for row, line in enumerate(errors) if line.max() > HALF]


def draw(axes: Axes, line: Line) -> None:
    counts, names = mean_counts(line), shown_names(line.group)
    image = axes.imshow(counts, cmap="viridis", vmin=0)
    size = 7.0 if len(counts) <= 12 else 4.5
    for (row, column), count in np.ndenumerate(counts):
        colour = ink(image, float(count))
        axes.text(column, row, f"{count:.0f}", fontsize=size, color=colour, **CENTRED)
    for row, column in largest_errors(counts):
        outline(axes, row, column, 1, "white", "-", label="largest error")
    for place in range(len(similar_pairs(line.group.first))):
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
    frame.set_clip_on(False)  # at the edge, half of it lies outside
    frame.set_linewidth(1.8 if size == 1 else 1.0)
    if size == 1:
        frame.set_path_effects([withStroke(linewidth=3, foreground="#333333")])
        frame.set_zorder(3)
    axes.add_patch(frame)

"""Names beside points, where they cover neither each other nor a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from bison_ocl.report.figures.style import GREY

Points = npt.NDArray[np.float64]
RINGS = (7, 13, 20, 29, 40)
"""distances from the point, in points; the nearest that is free is taken"""
NEAR = 13
"""up to where it is plain which point a label belongs to"""
DIRECTIONS = (45, 0, -45, 135, 180, -135, 90, -90)


@dataclass(frozen=True)
class Candidate:
    """A place for a label."""

    cost: float
    ring: int
    offset: tuple[float, float]
    box: Bbox


def name_points(
    axes: Axes, points: npt.ArrayLike, names: Sequence[str], around: npt.ArrayLike
) -> list[Annotation]:
    """A label for each point [N, 2], clear of those `around` [K, 2]; the layout must be done."""
    where: Points = np.asarray(points, np.float64)
    pixels: Points = axes.transData.transform(np.concatenate([where, np.asarray(around)]))
    taken: list[Bbox] = []
    found = []
    for place, name in enumerate(names):
        label = axes.annotate(
            name,
            (where[place, 0], where[place, 1]),
            xytext=(0, 0),
            textcoords="offset points",
            fontsize=8.5,
            horizontalalignment="center",
            verticalalignment="center",
            zorder=5,
        )
        label.set_in_layout(False)  # it was placed in the layout there is
        taken.append(put(axes, label, pixels, taken))
        found.append(label)
    return found


def put(axes: Axes, label: Annotation, pixels: Points, taken: Sequence[Bbox]) -> Bbox:
    """Move a label to the candidate with the least to cover, and give where it is."""
    box = label.get_window_extent()
    figure = label.get_figure(root=True)
    assert figure is not None
    per_point = figure.dpi / 72
    found = []
    for ring, angle in product(RINGS, DIRECTIONS):
        way = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        half = np.array([box.width, box.height]) / 2 / per_point
        offset = way * (ring + half)  # an ellipse around the point, as wide as the text
        moved = box.translated(*(offset * per_point))
        cost = covered(moved, pixels, taken, axes.bbox) + ring
        found.append(Candidate(cost, ring, (float(offset[0]), float(offset[1])), moved))
    best = min(found, key=lambda candidate: candidate.cost)
    label.set_position(best.offset)
    if best.ring > NEAR:
        lead(axes, label)
    return best.box


def lead(axes: Axes, label: Annotation) -> None:
    """A thin line from a label to its point."""
    axes.annotate(
        "",
        label.xy,
        label.get_position(),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 4},
        zorder=3,
    ).set_in_layout(False)


def covered(box: Bbox, pixels: Points, taken: Sequence[Bbox], inside: Bbox) -> float:
    """How bad a place is: points and labels under it, and how much lies outside the panel."""
    low, high = box.padded(5).get_points()
    points = int(np.all((pixels > low) & (pixels < high), axis=1).sum())
    labels = sum(box.overlaps(other) for other in taken)
    within = Bbox.intersection(box, inside)
    out = within is None or within.width * within.height < 0.99 * box.width * box.height
    return 60 * points + 80 * labels + 100 * out

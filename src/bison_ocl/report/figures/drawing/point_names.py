"""Names beside points, where they cover neither each other nor a point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bison_ocl.look import GREY
from bison_ocl.report.figures.chart import Series

Floats = npt.NDArray[np.float64]
RINGS = (7, 13, 20, 29, 40)
"""distances from the point, in points; the nearest that is free is taken"""
NEAR = 13
"""up to where it is plain which point a label belongs to"""
ANGLES = np.radians((45, 0, -45, 135, 180, -135, 90, -90))
RING = np.repeat(RINGS, len(ANGLES))
"""of each place that is tried [N]"""
WAY: Floats = np.tile(np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1), (len(RINGS), 1))
"""from the point to each place that is tried [N, 2]"""
MARGIN = 5
"""pixels around a label in which a point is too close"""


def name_points(figure: Figure, axes: Axes, points: Sequence[Series]) -> None:
    """A label for each point that has a text, clear of all points; the layout must be done."""
    where: Floats = np.array([[one.x[0], one.y[0]] for one in points if one.x]).reshape(-1, 2)
    pixels: Floats = axes.transData.transform(where)
    taken: Floats = np.empty((0, 4))
    for one in points:
        if one.text:
            taken = np.vstack([taken, name_point(figure, axes, one, pixels, taken)])


def name_point(figure: Figure, axes: Axes, one: Series, pixels: Floats, taken: Floats) -> Floats:
    """Write a label where it covers least; the box that it takes."""
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    label = axes.annotate(
        one.text,
        (one.x[0], one.y[0]),
        xytext=(0, 0),
        textcoords="offset points",
        fontsize=8.5,
        horizontalalignment="center",
        verticalalignment="center",
        bbox={"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.3},  # over lines
        arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.6},
        zorder=5,
    )
    label.set_in_layout(False)  # it was placed in the layout there is
    box = label.get_window_extent(renderer)
    half = np.array([box.width, box.height]) / 2
    per_point = figure.dpi / 72
    offsets = WAY * (RING[:, None] * per_point + half)  # an ellipse, as wide as the text
    pixel = axes.transData.transform((one.x[0], one.y[0]))
    boxes = np.hstack([pixel + offsets - half, pixel + offsets + half])
    best = int(np.argmin(cost(boxes, pixels, taken, np.array(axes.bbox.extents))))
    label.set_position((offsets[best, 0] / per_point, offsets[best, 1] / per_point))
    if label.arrow_patch is not None:
        label.arrow_patch.set_visible(bool(RING[best] > NEAR))
    return np.asarray(boxes[best])


def cost(boxes: Floats, pixels: Floats, taken: Floats, inside: Floats) -> Floats:
    """How bad each place is: points and labels under it, not within the panel, far away [N].

    Boxes are left, bottom, right, top in pixels.
    """
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    points = np.all((pixels > low - MARGIN) & (pixels < high + MARGIN), axis=2).sum(1)
    labels = np.all((taken[:, 2:] > low) & (taken[:, :2] < high), axis=2).sum(1)
    within = np.all((boxes[:, :2] >= inside[:2]) & (boxes[:, 2:] <= inside[2:]), axis=1)
    return np.asarray(60 * points + 80 * labels + 100 * ~within + RING)

"""Positions of names near their points, where they cover neither each other nor a point.

A name that is not clearly nearest to its own point is tied to it by a line.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bison_ocl.report.figures.chart import Series

Floats = npt.NDArray[np.float64]
Limits = tuple[float, float]
RINGS = (7, 13, 20, 29, 40, 52)
"""distances from the point, in points; the nearest that is free is taken"""
NEAR = 13
"""distance beyond which a line ties the name to its point"""
ANGLES = np.radians((45, 0, -45, 135, 180, -135, 90, -90, 22, -22, 158, -158, 67, -67, 112, -112))
RING = np.repeat(RINGS, len(ANGLES))
"""of each position that is tried [N]"""
WAY: Floats = np.tile(np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1), (len(RINGS), 1))
"""direction of each position that is tried [N, 2]"""
CLEAR = 6
"""how much farther any other point must be, in points"""
LETTER, HALF = 5.6, 5.5
"""width of a letter and half the height of a line, in points"""
MARGIN = 3
"""around a name, in which a point is too close"""


def named(points: Sequence[Series]) -> list[Series]:
    return [one for one in points if one.text and one.kind == "points"]


def offsets(
    points: Sequence[Series], x: Limits, y: Limits, wide: float, tall: float
) -> list[tuple[float, float, bool]]:
    """For each named point the way to its name, in points, and whether a line ties the two.

    x, y: limits of the axes; wide, tall: size of the panel in points.
    """
    low, size = np.array([x[0], y[0]]), np.array([x[1] - x[0], y[1] - y[0]])

    def drawn(some: Sequence[Series]) -> Floats:
        where = np.array([[one.x[0], one.y[0]] for one in some]).reshape(-1, 2)
        return np.asarray((where - low) / size * [wide, tall])

    obstacles = drawn([one for one in points if one.kind == "points" and len(one.x)])
    centres = drawn(named(points))
    taken: Floats = np.empty((0, 4))
    found = []
    for own, one in enumerate(named(points)):
        point = centres[own]
        half = np.array([LETTER * len(one.text) / 2, HALF])
        ways = WAY * (RING[:, None] + half)  # an ellipse, as wide as the name
        boxes = np.hstack([point + ways - half, point + ways + half])
        ahead = lead(boxes, centres, own)
        spent = cost(boxes, obstacles, taken, wide, tall) + 40 * (ahead < 0) + 5 * (ahead < CLEAR)
        best = int(np.argmin(spent))
        taken = np.vstack([taken, boxes[best]])
        tied = bool(RING[best] > NEAR or ahead[best] < CLEAR)
        found.append((float(ways[best, 0]), float(ways[best, 1]), tied))
    return found


def lead(boxes: Floats, points: Floats, own: int) -> Floats:
    """How much nearer a name is to its own point than to any other [N]."""
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    away = np.linalg.norm(np.maximum(0, np.maximum(low - points, points - high)), axis=2)
    others = np.delete(away, own, axis=1).min(axis=1, initial=np.inf)
    return np.asarray(others - away[:, own])


def cost(boxes: Floats, obstacles: Floats, taken: Floats, wide: float, tall: float) -> Floats:
    """The points and names that a box [left, bottom, right, top] covers, and its distance [N]."""
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    points = np.all((obstacles > low - MARGIN) & (obstacles < high + MARGIN), axis=2).sum(1)
    names = np.all((taken[:, 2:] > low) & (taken[:, :2] < high), axis=2).sum(1)
    within = np.all((boxes[:, :2] >= 0) & (boxes[:, 2:] <= [wide, tall]), axis=1)
    return np.asarray(60 * points + 80 * names + 100 * ~within + RING)

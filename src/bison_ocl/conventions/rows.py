"""Rows of numbers as images, for libraries that know no images."""

from __future__ import annotations

from math import inf, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bison_ocl.errors import UserError

Array = NDArray[Any]
SMALLEST = 4
"""pixels of a side; with fewer, channels and columns cannot be told apart"""


def to_images(
    x: Array, image_shape: tuple[int, ...] | None, value_range: tuple[float, float] | None
) -> Array:
    """Images for a learner: rows [N, d] in a shape, values of a range as [0, 1].

    `image_shape` is (H, W), (H, W, C) or (C, H, W). None: arrays of images stay as they are, and a
    row becomes the smallest square grey image that holds it, filled up with zeros.
    """
    if value_range is not None:
        low, high = limits(value_range)
        x = np.clip((x.astype(np.float64) - low) / (high - low), 0, 1).astype(np.float32)
    if x.ndim != 2:
        return x
    if x.shape[1] == 0:
        raise UserError("rows have no values: expected at least one per image")
    if image_shape is None:
        side = max(SMALLEST, isqrt(x.shape[1] - 1) + 1)
        x = np.pad(x, ((0, 0), (0, side**2 - x.shape[1])))
        image_shape = side, side
    if np.prod(image_shape) != x.shape[1]:
        raise UserError(f"image_shape={image_shape} does not hold the {x.shape[1]} values of a row")
    images = x.reshape(len(x), *image_shape)
    return images[:, None] if len(image_shape) == 2 else images


def limits(value_range: Any) -> tuple[float, float]:
    """The two numbers of a range, refused if it has none between them."""
    try:
        low, high = map(float, value_range)
    except (TypeError, ValueError):
        low = high = 0.0
    if not -inf < low < high < inf:
        raise UserError(f"value_range={value_range!r}: expected (low, high) with low < high")
    return low, high

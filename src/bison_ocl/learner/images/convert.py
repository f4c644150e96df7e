"""Convert the caller's images to bytes [N, 3, H, W]: arrays, or lists of pictures."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bison_ocl.learner.images.arrays import array_to_bytes
from bison_ocl.learner.images.pictures import are_pictures, is_picture, pixels, resized


def to_bytes(images: Any, side: int | None = None) -> Tensor:
    """A copy of images as bytes; a single image counts as a batch of one.

    side: of the squares that they are resized to; None: all must have one size.
    """
    if isinstance(images, list | tuple) and not images:
        return torch.zeros((0, 3, 1, 1), dtype=torch.uint8)
    if is_picture(images):
        return pixels([images], side)
    if are_pictures(images):
        return pixels(images, side)
    x = array_to_bytes(images)
    if side is None or x.shape[2:] == (side, side) or not len(x):
        return x
    return torch.stack([resized(one, side) for one in x])


def is_single(images: Any) -> bool:
    """Whether it is one image, not a batch."""
    return is_picture(images) or getattr(images, "ndim", None) in (2, 3)

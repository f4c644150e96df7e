"""Random resized crop: a box of random area, aspect and position, resized to the image.

The box is drawn as in torchvision's RandomResizedCrop (after Szegedy et al. 2015, §6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

# Boxes drawn per image before falling back to the central one.
TRIES = 10
# The range of width / height, from which its logarithm is drawn uniformly.
ASPECT = (3 / 4, 4 / 3)


@dataclass(frozen=True)
class Box:
    """The part of each image that is kept, in whole pixels. All: float32 [B]"""

    top: Tensor
    left: Tensor
    height: Tensor
    width: Tensor


def random_box(
    area: Tensor, aspect: Tensor, top: Tensor, left: Tensor, size: tuple[int, int], smallest: float
) -> Box:
    """A box of area in (smallest, 1) of images of `size`, from uniform draws of its four numbers.

    area, aspect: [B, TRIES], of which the first box that fits counts; top, left: [B]
    """
    pixels = (smallest + (1 - smallest) * area) * math.prod(size)
    low, high = math.log(ASPECT[0]), math.log(ASPECT[1])
    ratio = (low + (high - low) * aspect).exp()
    heights, widths = (pixels / ratio).sqrt().round(), (pixels * ratio).sqrt().round()
    fits = (heights > 0) & (heights <= size[0]) & (widths > 0) & (widths <= size[1])
    first, none = fits.byte().argmax(dim=1, keepdim=True), ~fits.any(dim=1)
    central = central_size(size)
    height = heights.gather(1, first)[:, 0].masked_fill(none, central[0])
    width = widths.gather(1, first)[:, 0].masked_fill(none, central[1])
    return Box(
        top=first_pixel(top, size[0] - height, none),
        left=first_pixel(left, size[1] - width, none),
        height=height,
        width=width,
    )


def central_size(size: tuple[int, int]) -> tuple[int, int]:
    """The largest height and width in an image of `size` that have an allowed aspect."""
    height, width = size
    return min(height, round(width / ASPECT[0])), min(width, round(height * ASPECT[1]))


def first_pixel(draw: Tensor, room: Tensor, central: Tensor) -> Tensor:
    """The start of a box that leaves `room` pixels: centred if `central`, else random."""
    anywhere = torch.minimum((draw * (room + 1)).floor(), room)
    return torch.where(central, (room / 2).floor(), anywhere)


def central_crop(x: Tensor, share: float) -> Tensor:
    """The central part of each image, of that share of its sides, resized to the whole image."""
    height, width = (max(1, round(share * side)) for side in x.shape[-2:])
    top, left = (x.shape[-2] - height) // 2, (x.shape[-1] - width) // 2
    box = Box(*(x.new_full((1,), pixels) for pixels in (top, left, height, width)))
    return crop(x, box)


def crop(x: Tensor, box: Box) -> Tensor:
    """The box of each image resized bilinearly to the whole image. x: [B, C, H, W]"""
    return stretch(stretch(x.mT, box.top, box.height).mT, box.left, box.width)


def stretch(x: Tensor, start: Tensor, length: Tensor) -> Tensor:
    """Linear interpolation of `length` columns from `start` on to as many as x has.

    Gathers, because a product with interpolation matrices may be rounded to TF32 on a GPU.
    """
    start, length = start[:, None].to(x.dtype), length[:, None].to(x.dtype)
    column = torch.arange(x.shape[-1], dtype=x.dtype, device=x.device)
    # Clamped before `start` is added, so that no pixel outside the box is read.
    place = ((column + 0.5) * (length / x.shape[-1]) - 0.5).clamp(min=0)
    near = place.floor()
    far = torch.minimum(near + 1, length - 1)
    left, right = (columns(x, (start + side).long()) for side in (near, far))
    return left + (place - near)[:, None, None] * (right - left)


def columns(x: Tensor, index: Tensor) -> Tensor:
    """The columns of each image that its row of `index` names. index: [B, W]"""
    return x.gather(-1, index[:, None, None].expand(x.shape))

"""Colour jitter and greyscale with one draw per image, on values in [0, 1].

The operations are those of torchvision's ColorJitter. x: [B, 3, H, W] throughout.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Properties that a blend changes. The fourth operation, the hue shift, is no blend.
BRIGHTNESS, CONTRAST, SATURATION = range(3)


def grey(x: Tensor) -> Tensor:
    """The luma of ITU-R BT.601. Returns [B, 1, H, W]"""
    red, green, blue = x.chunk(3, dim=1)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def blend(x: Tensor, kind: Tensor, factor: Tensor) -> Tensor:
    """Blend images away from (factor > 1) or towards zero brightness, contrast or saturation.

    kind, factor: [B, 1, 1, 1]. A factor of 1 changes nothing, exactly.
    """
    luma = grey(x)
    flat = luma.mean((-2, -1), keepdim=True)
    without = luma * (kind == SATURATION) + flat * (kind == CONTRAST)
    return (factor * x + (1 - factor) * without).clamp(0, 1)


def shift_hue(x: Tensor, turns: Tensor) -> Tensor:
    """Rotate the hue in the hexagon of HSV (Smith 1978), keeping saturation and value.

    turns: [B, 1, 1, 1]
    """
    red, green, blue = x.chunk(3, dim=1)
    value = x.amax(dim=1, keepdim=True)
    chroma = value - x.amin(dim=1, keepdim=True)
    divisor = chroma.clamp(min=torch.finfo(x.dtype).tiny)
    cool = torch.where(green == value, 2 + (blue - red) / divisor, 4 + (red - green) / divisor)
    hue = torch.where(red == value, (green - blue) / divisor, cool) + 6 * turns
    # In sixths of a turn, a channel is full within one of its hue and empty beyond two.
    away = hue - torch.arange(0, 6, 2, device=x.device)[:, None, None]
    away = (away - 6 * (away / 6).round()).abs()
    return value - chroma * (away - 1).clamp(0, 1)


def jitter(x: Tensor, factor: Tensor, turns: Tensor, order: Tensor) -> Tensor:
    """Three blends and a hue shift, in a random order per image.

    factor: [3, B, 1, 1, 1], by kind; turns: [B, 1, 1, 1]; order: [4, B, 1, 1, 1], the hue's last,
    of which the lowest comes first.
    """
    when, kind = order[:3].sort(dim=0)
    factor = factor.gather(0, kind)
    early = when < order[3]
    # Hue costs as much as three blends: do it once, and skip each blend on one side of it.
    for place in range(3):
        x = blend(x, kind[place], factor[place].masked_fill(~early[place], 1))
    x = shift_hue(x, turns)
    for place in range(3):
        x = blend(x, kind[place], factor[place].masked_fill(early[place], 1))
    return x

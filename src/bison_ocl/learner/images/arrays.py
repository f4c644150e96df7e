"""Arrays of images, in any usual layout, as bytes [N, 3, H, W]."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from bison_ocl.errors import UserError

ROUNDING = 1e-5
"""tolerance for floats outside [0, 1], as after an interpolation"""
LAYOUTS = "[N, H, W, C] or [N, C, H, W] with 1 or 3 channels"


def array_to_bytes(images: Any) -> Tensor:
    """Arrays: uint8 or floats in [0, 1]; HWC or CHW; numpy or torch; one image or a batch."""
    x = images.detach().cpu() if isinstance(images, Tensor) else from_array(images)
    given = list(x.shape)
    if x.ndim == 3:
        x = x[None]
    if x.ndim != 4:
        raise UserError(f"images must be {LAYOUTS}, not {given}: add or drop an axis")
    if x.shape[1] in (1, 3) and x.shape[3] in (1, 3):
        raise UserError(f"images of shape {given} may be {LAYOUTS}: resize them, 4 pixels or more")
    if x.shape[1] not in (1, 3):
        if x.shape[3] not in (1, 3):
            raise UserError(f"images must be {LAYOUTS}, not {given}: {advice(x, given)}")
        x = x.permute(0, 3, 1, 2)
    if 0 in x.shape[2:]:
        raise UserError(f"images must have pixels, not {list(x.shape)}: leave them out")
    return quantised(x).expand(-1, 3, -1, -1).clone(memory_format=torch.contiguous_format)


def advice(x: Tensor, given: list[int]) -> str:
    """What to do with images of no layout. x: as a batch; given: their shape"""
    if x.shape[3] == 4 or x.shape[1] == 4 < x.shape[3]:
        return "drop the fourth channel, alpha"
    return "grey images need an axis, images[..., None]" if len(given) == 3 else "permute the axes"


def from_array(images: Any) -> Tensor:
    """A tensor of anything that numpy converts to numbers."""
    try:
        array = np.require(
            images, requirements=["C", "W", "E"]
        )  # torch warns about read-only arrays
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))
    except (TypeError, ValueError) as error:
        raise UserError(
            f"images must be a numeric array of {LAYOUTS}, or a list of arrays, PIL images, paths "
            f"or bytes of files, not {type(images).__name__}"
        ) from error


def quantised(x: Tensor) -> Tensor:
    """Floats in [0, 1] as bytes; bytes unchanged."""
    if x.dtype == torch.uint8:
        return x
    if not x.dtype.is_floating_point:
        raise UserError(f"images must be uint8 or float in [0, 1], not {x.dtype}: convert them")
    x = x.float()
    if not x.isfinite().all():
        raise UserError("images hold NaN or infinite values: drop or repair them")
    if x.numel() and (x.min() < -ROUNDING or x.max() > 1 + ROUNDING):
        low, high = x.min().item(), x.max().item()
        raise UserError(f"float images must lie in [0, 1], not [{low:.6g}, {high:.6g}]: scale them")
    return (x.clamp(0, 1) * 255).round().to(torch.uint8)

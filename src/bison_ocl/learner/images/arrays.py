"""Arrays of images, in any usual layout, as bytes [N, 3, H, W]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bison_ocl.errors import UserError

ROUNDING = 1e-5
"""tolerance for floats outside [0, 1], as after an interpolation"""
LONGEST = 3
"""largest ratio of the sides of one grey image [H, W]; beyond it an array holds rows of pixels"""
LAYOUTS = "[N, H, W, C] or [N, C, H, W] with 1, 3 or 4 channels (RGBA)"
GREY = "grey images need an axis, images[..., None]"


def array_to_bytes(images: Any) -> Tensor:
    """Arrays: uint8 or floats in [0, 1]; HWC or CHW; numpy or torch; one image or a batch.

    One grey image may be [H, W], unless it looks like rows of pixels; alpha is put on white.
    """
    x = as_tensor(images)
    given = list(x.shape)
    if x.ndim == 2:
        if min(given) <= 4 or max(given) > LONGEST * min(given):
            raise UserError(
                f"an array {given} is no image: reshape rows to [N, H, W, 1], or one grey image to "
                "[H, W, 1]"
            )
        return batch_to_bytes(x[None, :, :, None], given)
    if x.ndim == 3 and given[0] == 4 and given[2] not in (1, 3):
        raise UserError(
            f"images of shape {given} may be 4 grey images or one with alpha: "
            "add an axis, images[..., None] or images[None]"
        )
    return batch_to_bytes(x[None] if x.ndim == 3 else x, given)


def batch_to_bytes(x: Tensor, given: list[int]) -> Tensor:
    """A batch of four axes as bytes [N, 3, H, W]. given: its shape in messages"""
    if x.ndim != 4:
        raise UserError(f"images must be {LAYOUTS}, not {given}: add or drop an axis")
    x = channels_first(x, given)
    if x.shape[1] == 2:  # rarely grey and alpha: radar, optical flow
        advice = GREY if len(given) == 3 and given[0] == 2 else "choose or compute them"
        raise UserError(f"images of shape {given} have 2 channels, not 1, 3 or 4 (RGBA): {advice}")
    if 0 in x.shape[2:]:
        raise UserError(f"images must have pixels, not {given}: leave them out")
    x = quantised(x)
    x = on_white(x) if x.shape[1] == 4 else x
    return x.expand(-1, 3, -1, -1).clone(memory_format=torch.contiguous_format)


def channels_first(x: Tensor, given: list[int]) -> Tensor:
    """[N, C, H, W]. An axis of 1 or 3 holds the channels; if there is none, one of 2 or 4."""
    for channels in ((1, 3), (2, 4)):
        first, last = x.shape[1] in channels, x.shape[3] in channels
        if first and last:
            raise UserError(
                f"images of shape {given} may be {LAYOUTS}: resize them, 5 pixels or more"
            )
        if first or last:
            return x if first else x.permute(0, 3, 1, 2)
    advice = GREY if len(given) == 3 else "permute the axes"
    raise UserError(f"images must be {LAYOUTS}, not {given}: {advice}")


def on_white(x: Tensor) -> Tensor:
    """Bytes of RGBA on white; rounded as by pillow."""
    colour, alpha = x[:, :-1].int(), x[:, -1:].int()
    return ((colour * alpha + 255 * (255 - alpha) + 127) // 255).to(torch.uint8)


def as_tensor(images: Any) -> Tensor:
    """An array or tensor as a tensor on the CPU."""
    if not isinstance(images, Tensor):
        return from_array(images)
    wanted = "images must be a dense tensor"
    if images.is_meta:
        raise UserError(f"{wanted}, not one without values (meta): convert it")
    if images.layout != torch.strided or images.is_nested or images.is_quantized:
        raise UserError(f"{wanted}, not a sparse, nested or quantised one: convert it")
    return images.detach().cpu()


def from_array(images: Any) -> Tensor:
    """A tensor of anything that numpy converts to numbers."""
    try:
        # Writable, because torch warns about read-only arrays.
        array = np.require(images, requirements=["C", "W", "E"])
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))
    except (TypeError, ValueError) as error:
        raise UserError(
            f"images must be a numeric array of {LAYOUTS}, or a list of arrays, PIL images, paths "
            f"or bytes of files, not {kind(images)}"
        ) from error


def kind(images: Any) -> str:
    """What images are instead of an array or a list, and what makes a list of them."""
    name = type(images).__name__
    if isinstance(images, list | tuple):
        return f"{name} of {type(images[0]).__name__}"
    if hasattr(images, "read"):
        return f"{name}: give images.read()"
    several = isinstance(images, Iterable) and not isinstance(images, Mapping | Set)
    return f"{name}: give list(images)" if several else name


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

"""Scale, shift, addition and ReLU as one operator: normalisation by running statistics.

For images [B, H, W, C]. Under vmap one kernel serves all runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bison_ocl.nets.kernels.over_runs import in_line, serve_all_runs, takes_kernels, total_type
from bison_ocl.nets.kernels.tiles import BACKWARD, slabs_of

Three = tuple[Tensor, Tensor, Tensor]


@torch.library.custom_op("bison_ocl::affine_forward", mutates_args=())
def affine_forward(
    x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool
) -> Tensor:
    """x, residual: [..., B, H, W, C], scale, shift: [..., C] -> y like x"""
    images, own = in_line(x, 4), None if residual is None else in_line(residual, 4)
    scales, shifts = in_line(scale, 1), in_line(shift, 1)
    if takes_kernels(x):
        from bison_ocl.nets.kernels import affine_kernels

        y = affine_kernels.affine(images, scales, shifts, own, relu)
    else:
        y = images.to(total_type(x)) * over_pixels(scales) + over_pixels(shifts)
        y = y if own is None else y + own
        y = (y.relu() if relu else y).to(x.dtype)
    return y.reshape(x.shape)


@torch.library.custom_op("bison_ocl::affine_back", mutates_args=())
def affine_back(slope: Tensor, x: Tensor, y: Tensor, scale: Tensor, relu: bool, add: bool) -> Three:
    """Gradients of x, of the residual (if any), and of scale and shift.

    The last as sums over the third axis: [..., 2, parts, C].
    """
    slopes, images, outputs = (in_line(value, 4) for value in (slope, x, y))
    scales = in_line(scale, 1)
    if takes_kernels(x):
        from bison_ocl.nets.kernels import affine_kernels

        to_x, to_residual, sums = affine_kernels.affine_back(
            slopes, images, outputs, scales, relu, add
        )
    else:
        g = slopes.to(total_type(x))
        g = g * (outputs > 0) if relu else g
        to_residual = g.to(x.dtype, copy=True) if add else None  # not the given tensor itself
        to_x = (g * over_pixels(scales)).to(x.dtype)
        pixels = (1, 2, 3)
        sums = torch.stack([(g * images).sum(pixels), g.sum(pixels)], dim=1)[:, :, None]
    nothing = x.new_empty((*x.shape[:-4], 0))
    residual = nothing if to_residual is None else to_residual.reshape(x.shape)
    return to_x.reshape(x.shape), residual, sums.reshape(*x.shape[:-4], *sums.shape[1:])


def over_pixels(value: Tensor) -> Tensor:
    """[S, C] to multiply [S, B, H, W, C] with."""
    return value[:, None, None, None]


@affine_forward.register_fake
def _(x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool) -> Tensor:
    return torch.empty_like(x)


@affine_back.register_fake
def _(slope: Tensor, x: Tensor, y: Tensor, scale: Tensor, relu: bool, add: bool) -> Three:
    *runs, channels = scale.shape
    residual = torch.empty_like(x) if add else x.new_empty((*runs, 0))
    parts = slabs_of(x, 1, BACKWARD).parts if takes_kernels(x) else 1
    sums = x.new_empty((*runs, 2, parts, channels), dtype=total_type(x))
    return torch.empty_like(x), residual, sums


serve_all_runs(affine_forward)
serve_all_runs(affine_back)


class Affine(torch.autograd.Function):
    """relu(x · scale + shift + residual)"""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool
    ) -> Tensor:
        y: Tensor = affine_forward(x, scale, shift, residual, relu)
        return y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        x, scale, _, residual, ctx.relu = inputs
        ctx.add = residual is not None
        ctx.save_for_backward(x, output, scale)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        to_x, residual, sums = AffineGradient.apply(  # type: ignore[no-untyped-call]
            slope, *ctx.saved_tensors, ctx.relu, ctx.add
        )
        to_scale, to_shift = sums.sum(1).unbind(0)
        return to_x, to_scale, to_shift, residual if ctx.add else None, None


class AffineGradient(torch.autograd.Function):
    """Gradient of `Affine`, without second derivatives."""

    generate_vmap_rule = True

    @staticmethod
    def forward(slope: Tensor, x: Tensor, y: Tensor, scale: Tensor, relu: bool, add: bool) -> Three:
        found: Three = affine_back(slope.contiguous(), x, y, scale, relu, add)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Three) -> None:
        ctx.mark_non_differentiable(*output)


def affine(x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool) -> Tensor:
    """x, residual: [B, H, W, C], scale, shift: [C] -> y like x"""
    y: Tensor = Affine.apply(x, scale, shift, residual, relu)  # type: ignore[no-untyped-call]
    return y

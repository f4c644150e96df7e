"""A line per channel, addition and ReLU as one operator: normalisation by running statistics.

For images [B, H, W, C]. Under vmap one kernel serves all runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bison_ocl.nets.kernels.over_runs import in_line, serve_all_runs, takes_kernels, total_type
from bison_ocl.nets.kernels.tiles import BACKWARD, slabs_of

Three = tuple[Tensor, Tensor, Tensor]


@torch.library.custom_op("bison_ocl::draw_line", mutates_args=())
def draw_line(
    x: Tensor, slope: Tensor, intercept: Tensor, residual: Tensor | None, relu: bool
) -> Tensor:
    """x, residual: [..., B, H, W, C], slope, intercept: [..., C] -> y like x"""
    images, own = in_line(x, 4), None if residual is None else in_line(residual, 4)
    slopes, intercepts = in_line(slope, 1), in_line(intercept, 1)
    if takes_kernels(x):
        from bison_ocl.nets.kernels import line_kernels

        y = line_kernels.line(images, slopes, intercepts, own, relu)
    else:
        y = images.to(total_type(x)) * over_pixels(slopes) + over_pixels(intercepts)
        y = y if own is None else y + own
        y = (y.relu() if relu else y).to(x.dtype)
    return y.reshape(x.shape)


@torch.library.custom_op("bison_ocl::draw_line_back", mutates_args=())
def draw_line_back(
    gradient: Tensor, x: Tensor, y: Tensor, slope: Tensor, relu: bool, add: bool
) -> Three:
    """Gradients of x, of the residual (if any), and of slope and intercept.

    The last as sums over the third axis: [..., 2, parts, C].
    """
    gradients, images, outputs = (in_line(value, 4) for value in (gradient, x, y))
    slopes = in_line(slope, 1)
    if takes_kernels(x):
        from bison_ocl.nets.kernels import line_kernels

        to_x, to_residual, sums = line_kernels.line_back(
            gradients, images, outputs, slopes, relu, add
        )
    else:
        g = gradients.to(total_type(x))
        g = g * (outputs > 0) if relu else g
        to_residual = g.to(x.dtype, copy=True) if add else None  # not the given tensor itself
        to_x = (g * over_pixels(slopes)).to(x.dtype)
        pixels = (1, 2, 3)
        sums = torch.stack([(g * images).sum(pixels), g.sum(pixels)], dim=1)[:, :, None]
    nothing = x.new_empty((*x.shape[:-4], 0))
    residual = nothing if to_residual is None else to_residual.reshape(x.shape)
    return to_x.reshape(x.shape), residual, sums.reshape(*x.shape[:-4], *sums.shape[1:])


def over_pixels(value: Tensor) -> Tensor:
    """[S, C] to multiply [S, B, H, W, C] with."""
    return value[:, None, None, None]


@draw_line.register_fake
def _(x: Tensor, slope: Tensor, intercept: Tensor, residual: Tensor | None, relu: bool) -> Tensor:
    return torch.empty_like(x)


@draw_line_back.register_fake
def _(gradient: Tensor, x: Tensor, y: Tensor, slope: Tensor, relu: bool, add: bool) -> Three:
    *runs, channels = slope.shape
    residual = torch.empty_like(x) if add else x.new_empty((*runs, 0))
    parts = slabs_of(x, 1, BACKWARD).parts if takes_kernels(x) else 1
    sums = x.new_empty((*runs, 2, parts, channels), dtype=total_type(x))
    return torch.empty_like(x), residual, sums


serve_all_runs(draw_line)
serve_all_runs(draw_line_back)


class Line(torch.autograd.Function):
    """relu(x · slope + intercept + residual)"""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, slope: Tensor, intercept: Tensor, residual: Tensor | None, relu: bool
    ) -> Tensor:
        y: Tensor = draw_line(x, slope, intercept, residual, relu)
        return y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        x, slope, _, residual, ctx.relu = inputs
        ctx.add = residual is not None
        ctx.save_for_backward(x, output, slope)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        to_x, residual, sums = LineGradient.apply(  # type: ignore[no-untyped-call]
            gradient, *ctx.saved_tensors, ctx.relu, ctx.add
        )
        to_slope, to_intercept = sums.sum(1).unbind(0)
        return to_x, to_slope, to_intercept, residual if ctx.add else None, None


class LineGradient(torch.autograd.Function):
    """Gradient of `Line`, without second derivatives."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        gradient: Tensor, x: Tensor, y: Tensor, slope: Tensor, relu: bool, add: bool
    ) -> Three:
        found: Three = draw_line_back(gradient.contiguous(), x, y, slope, relu, add)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Three) -> None:
        ctx.mark_non_differentiable(*output)


def line(
    x: Tensor, slope: Tensor, intercept: Tensor, residual: Tensor | None, relu: bool
) -> Tensor:
    """x, residual: [B, H, W, C], slope, intercept: [C] -> y like x"""
    y: Tensor = Line.apply(x, slope, intercept, residual, relu)  # type: ignore[no-untyped-call]
    return y

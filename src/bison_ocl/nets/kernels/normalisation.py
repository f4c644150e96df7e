"""Batch normalisation, addition and ReLU as one operator.

(Ioffe & Szegedy 2015.) For images [B, H, W, C]; a batch may consist of `parts`, such as stream and
memory, each with its own statistics. Under vmap one kernel serves all runs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bison_ocl.nets.kernels.over_runs import in_line, serve_all_runs, takes_kernels, total_type
from bison_ocl.nets.kernels.tiles import BACKWARD, slabs_of
from bison_ocl.nets.norm import EPSILON

Three = tuple[Tensor, Tensor, Tensor]


@torch.library.custom_op("bison_ocl::normalise", mutates_args=())
def normalise(
    x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool, parts: int
) -> Three:
    """x, residual: [..., B, H, W, C], scale, shift: [..., C] -> y; moments, each [..., parts, C]"""
    images, own = in_line(x, 4), None if residual is None else in_line(residual, 4)
    scales, shifts = in_line(scale, 1), in_line(shift, 1)
    if takes_kernels(x):
        from bison_ocl.nets.kernels import normalisation_kernels as kernels

        y, mean, variance = kernels.normalise(images, scales, shifts, own, relu, parts, EPSILON)
        moments = (mean, variance)
    else:
        wide, moments, unit = standardised(images, parts)
        y = over_parts(scales) * unit + over_parts(shifts)
        y = y.flatten(1, 2) if own is None else y.flatten(1, 2) + own.to(wide.dtype)
        y = (y.relu() if relu else y).to(x.dtype)
    means, variances = (value.reshape(*x.shape[:-4], parts, x.shape[-1]) for value in moments)
    return y.reshape(x.shape), means, variances


@torch.library.custom_op("bison_ocl::normalise_back", mutates_args=())
def normalise_back(
    slope: Tensor,
    x: Tensor,
    y: Tensor,
    means: Tensor,
    variances: Tensor,
    scale: Tensor,
    shift: Tensor,
    relu: bool,
    add: bool,
) -> Three:
    """Gradients of x, of the residual (if any), and of shift and scale.

    The last as sums over the first and the third axis: [..., parts, 2, more parts, C].
    """
    slopes, images, outputs = (in_line(value, 4) for value in (slope, x, y))
    scales, shifts, parts = in_line(scale, 1), in_line(shift, 1), means.shape[-2]
    if takes_kernels(x):
        from bison_ocl.nets.kernels import normalisation_kernels as kernels

        moments = (in_line(means, 2), in_line(variances, 2))
        to_x, to_residual, sums = kernels.normalise_back(
            slopes, images, outputs, *moments, scales, shifts, relu, add, EPSILON
        )
    else:
        wide, (_, spread), unit = standardised(images, parts)
        g = slopes.to(wide.dtype) * (outputs > 0) if relu else slopes.to(wide.dtype)
        to_residual = g.to(x.dtype, copy=True) if add else None  # not the given tensor itself
        g = torch.unflatten(g, 1, (parts, -1))
        pixels = (2, 3, 4)
        sums = torch.stack([g.sum(pixels), (g * unit).sum(pixels)], dim=2)[:, :, :, None]
        centred = g - g.mean(pixels, True) - unit * (g * unit).mean(pixels, True)
        rate = (spread + EPSILON).rsqrt()[:, :, None, None, None]
        to_x = (over_parts(scales) * rate * centred).flatten(1, 2).to(x.dtype)
    nothing = x.new_empty((*x.shape[:-4], 0))
    residual = nothing if to_residual is None else to_residual.reshape(x.shape)
    return to_x.reshape(x.shape), residual, sums.reshape(*x.shape[:-4], *sums.shape[1:])


def standardised(x: Tensor, parts: int) -> tuple[Tensor, tuple[Tensor, Tensor], Tensor]:
    """In float32 or better, [S, parts, n, H, W, C]: images, their moments, (x − μ) / √(σ² + ε)."""
    wide = torch.unflatten(x.to(total_type(x)), 1, (parts, -1))
    variance, mean = torch.var_mean(wide, (2, 3, 4), correction=0, keepdim=True)
    moments = (mean[:, :, 0, 0, 0], variance[:, :, 0, 0, 0])
    return wide, moments, (wide - mean) * (variance + EPSILON).rsqrt()


def over_parts(value: Tensor) -> Tensor:
    """[S, C] to multiply [S, parts, n, H, W, C] with."""
    return value[:, None, None, None, None]


@normalise.register_fake
def _(
    x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool, parts: int
) -> Three:
    shape, dtype = (*x.shape[:-4], parts, x.shape[-1]), total_type(x)
    means, variances = x.new_empty(shape, dtype=dtype), x.new_empty(shape, dtype=dtype)
    return torch.empty_like(x), means, variances


@normalise_back.register_fake
def _(
    slope: Tensor,
    x: Tensor,
    y: Tensor,
    means: Tensor,
    variances: Tensor,
    scale: Tensor,
    shift: Tensor,
    relu: bool,
    add: bool,
) -> Three:
    residual = torch.empty_like(x) if add else x.new_empty((*x.shape[:-4], 0))
    *runs, parts, channels = means.shape
    more = slabs_of(x, parts, BACKWARD).parts if takes_kernels(x) else 1
    sums = x.new_empty((*runs, parts, 2, more, channels), dtype=total_type(x))
    return torch.empty_like(x), residual, sums


serve_all_runs(normalise)
serve_all_runs(normalise_back)


class Normalisation(torch.autograd.Function):
    """relu(scale · (x − μ) / √(σ² + ε) + shift + residual), and μ and σ² of each part."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool, parts: int
    ) -> Three:
        found: Three = normalise(x, scale, shift, residual, relu, parts)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Three) -> None:
        x, scale, shift, residual, ctx.relu, _ = inputs
        ctx.add = residual is not None
        ctx.save_for_backward(x, scale, shift, *output)
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # no zeros in place of slopes that moments do not have

    @staticmethod
    def backward(ctx: Any, slope: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        x, scale, shift, y, means, variances = ctx.saved_tensors
        to_x, residual, sums = NormalisationGradient.apply(  # type: ignore[no-untyped-call]
            slope, x, y, means, variances, scale, shift, ctx.relu, ctx.add
        )
        to_shift, to_scale = sums.sum((0, 2)).unbind(0)
        return to_x, to_scale, to_shift, residual if ctx.add else None, None, None


class NormalisationGradient(torch.autograd.Function):
    """Gradient of `Normalisation`, without second derivatives."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        slope: Tensor,
        x: Tensor,
        y: Tensor,
        means: Tensor,
        variances: Tensor,
        scale: Tensor,
        shift: Tensor,
        relu: bool,
        add: bool,
    ) -> Three:
        found: Three = normalise_back(
            slope.contiguous(), x, y, means, variances, scale, shift, relu, add
        )
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Three) -> None:
        ctx.mark_non_differentiable(*output)


def normalisation(
    x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool, parts: int
) -> Three:
    """x, residual: [B, H, W, C] -> y like x; means and variances [parts, C], without gradients"""
    found: Three = Normalisation.apply(  # type: ignore[no-untyped-call]
        x, scale, shift, residual, relu, parts
    )
    return found

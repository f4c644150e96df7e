"""Triton kernels: batch normalisation, addition and ReLU for many small networks at once.

A slab is one part of one run's batch: R pixels of C channels. A sum over pixels is computed in
parts of fixed size, and the kernel that reads it adds the parts in a fixed order. Without atomics,
equal inputs give equal bits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from bison_ocl.nets.kernels.over_runs import countable
from bison_ocl.nets.kernels.tiles import BACKWARD, FORWARD, slabs_of

COUNTS = ("EACH", "PARTS")
"""arguments that Triton must not specialise on: a value of 1, or a multiple of 16, would compile
another kernel"""


@triton.jit
def sums_of(partial, slab, c, C, PARTS, SPACE: tl.constexpr):
    """Add the parts of a slab's two sums. partial: [slabs, 2, PARTS, C] -> [BC], [BC]"""
    first, second = tl.zeros(c.shape, tl.float32), tl.zeros(c.shape, tl.float32)
    for start in range(0, PARTS, SPACE):
        part = start + tl.arange(0, SPACE)
        place = (slab * 2 * PARTS + part)[:, None] * C + c[None, :]
        there = (part < PARTS)[:, None] & (c < C)[None, :]
        first += tl.sum(tl.load(partial + place, mask=there, other=0.0), axis=0)
        second += tl.sum(tl.load(partial + place + PARTS * C, mask=there, other=0.0), axis=0)
    return first, second


@triton.jit
def moments_of(partial, slab, c, R, C, EPSILON, PARTS, SPACE: tl.constexpr):
    """Mean, variance and 1/√(variance + ε) of a slab's channels."""
    total, squares = sums_of(partial, slab, c, C, PARTS, SPACE)
    mean = total / R
    variance = tl.maximum(squares / R - mean * mean, 0.0)
    return mean, variance, 1.0 / tl.sqrt(variance + EPSILON)


@triton.jit(do_not_specialize=COUNTS)
def sum_kernel(
    x, partial, R, LENGTH, PARTS, C: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """partial[slab, :, part, c] = Σ x and Σ x² over the pixels of a part."""
    part, slab = tl.program_id(0), tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    total, squares = tl.zeros((BR, BC), tl.float32), tl.zeros((BR, BC), tl.float32)
    for first in range(0, LENGTH, BR):
        r = part * LENGTH + first + tl.arange(0, BR)
        place = (slab * R + r)[:, None] * C + c[None, :]
        there = (r < R)[:, None] & (c < C)[None, :]
        value = tl.load(x + place, mask=there, other=0.0).to(tl.float32)
        total += value
        squares += value * value
    place = (slab * 2 * PARTS + part) * C + c
    tl.store(partial + place, tl.sum(total, axis=0), mask=c < C)
    tl.store(partial + place + PARTS * C, tl.sum(squares, axis=0), mask=c < C)


@triton.jit(do_not_specialize=COUNTS)
def apply_kernel(
    x, partial, scale, shift, residual, y, means, variances, R, EACH, EPSILON, LENGTH, PARTS,
    C: tl.constexpr, SPACE: tl.constexpr, RELU: tl.constexpr, ADD: tl.constexpr,
    BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """y = relu((x − mean) / √(variance + ε) · scale + shift + residual)"""
    slab = tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    mean, variance, rate = moments_of(partial, slab, c, R, C, EPSILON, PARTS, SPACE)
    if tl.program_id(0) == 0:
        tl.store(means + slab * C + c, mean, mask=c < C)
        tl.store(variances + slab * C + c, variance, mask=c < C)
    row = slab // EACH * C + c
    slope = tl.load(scale + row, mask=c < C, other=0.0) * rate
    lift = tl.load(shift + row, mask=c < C, other=0.0) - mean * slope
    for first in range(0, LENGTH, BR):
        r = tl.program_id(0) * LENGTH + first + tl.arange(0, BR)
        place = (slab * R + r)[:, None] * C + c[None, :]
        there = (r < R)[:, None] & (c < C)[None, :]
        value = tl.load(x + place, mask=there, other=0.0).to(tl.float32)
        value = value * slope[None, :] + lift[None, :]
        if ADD:
            value += tl.load(residual + place, mask=there, other=0.0).to(tl.float32)
        if RELU:
            value = tl.maximum(value, 0.0)
        tl.store(y + place, value.to(y.dtype.element_ty), mask=there)


@triton.jit
def slopes_at(
    slope, y, place, there, unit, scale, shift, RELU: tl.constexpr, ADD: tl.constexpr
):  # fmt: skip
    """The gradient before the ReLU. Without a residual, x̂ gives the sign, and y is not read."""
    found = tl.load(slope + place, mask=there, other=0.0).to(tl.float32)
    if RELU:
        if ADD:
            found = tl.where(tl.load(y + place, mask=there, other=0.0) > 0, found, 0.0)
        else:
            found = tl.where(unit * scale[None, :] + shift[None, :] > 0, found, 0.0)
    return found


@triton.jit(do_not_specialize=COUNTS)
def back_sum_kernel(
    slope, x, y, means, variances, scale, shift, partial, R, EACH, EPSILON, LENGTH, PARTS,
    C: tl.constexpr, RELU: tl.constexpr, ADD: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """partial[slab, :, part, c] = Σ g and Σ g·x̂ over the pixels of a part."""
    part, slab = tl.program_id(0), tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    mean = tl.load(means + slab * C + c, mask=c < C, other=0.0)
    rate = 1.0 / tl.sqrt(tl.load(variances + slab * C + c, mask=c < C, other=1.0) + EPSILON)
    own_scale = tl.load(scale + slab // EACH * C + c, mask=c < C, other=0.0)
    own_shift = tl.load(shift + slab // EACH * C + c, mask=c < C, other=0.0)
    total, along = tl.zeros((BR, BC), tl.float32), tl.zeros((BR, BC), tl.float32)
    for first in range(0, LENGTH, BR):
        r = part * LENGTH + first + tl.arange(0, BR)
        place = (slab * R + r)[:, None] * C + c[None, :]
        there = (r < R)[:, None] & (c < C)[None, :]
        value = tl.load(x + place, mask=there, other=0.0).to(tl.float32)
        unit = (value - mean[None, :]) * rate[None, :]
        g = slopes_at(slope, y, place, there, unit, own_scale, own_shift, RELU, ADD)
        total += g
        along += g * unit
    place = (slab * 2 * PARTS + part) * C + c
    tl.store(partial + place, tl.sum(total, axis=0), mask=c < C)
    tl.store(partial + place + PARTS * C, tl.sum(along, axis=0), mask=c < C)


@triton.jit(do_not_specialize=COUNTS)
def back_apply_kernel(
    slope, x, y, means, variances, scale, shift, partial, to_x, to_residual, R, EACH, EPSILON,
    LENGTH, PARTS, C: tl.constexpr, SPACE: tl.constexpr, RELU: tl.constexpr, ADD: tl.constexpr,
    BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """to_x = scale / √(variance + ε) · (g − mean g − x̂ · mean (g·x̂)); to_residual = g"""
    slab = tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    total, along = sums_of(partial, slab, c, C, PARTS, SPACE)
    mean = tl.load(means + slab * C + c, mask=c < C, other=0.0)
    rate = 1.0 / tl.sqrt(tl.load(variances + slab * C + c, mask=c < C, other=1.0) + EPSILON)
    own_scale = tl.load(scale + slab // EACH * C + c, mask=c < C, other=0.0)
    own_shift = tl.load(shift + slab // EACH * C + c, mask=c < C, other=0.0)
    for first in range(0, LENGTH, BR):
        r = tl.program_id(0) * LENGTH + first + tl.arange(0, BR)
        place = (slab * R + r)[:, None] * C + c[None, :]
        there = (r < R)[:, None] & (c < C)[None, :]
        value = tl.load(x + place, mask=there, other=0.0).to(tl.float32)
        unit = (value - mean[None, :]) * rate[None, :]
        g = slopes_at(slope, y, place, there, unit, own_scale, own_shift, RELU, ADD)
        if ADD:
            tl.store(to_residual + place, g.to(to_residual.dtype.element_ty), mask=there)
        g = (own_scale * rate)[None, :] * (g - (total / R)[None, :] - unit * (along / R)[None, :])
        tl.store(to_x + place, g.to(to_x.dtype.element_ty), mask=there)


def normalise(
    x: Tensor,
    scale: Tensor,
    shift: Tensor,
    residual: Tensor | None,
    relu: bool,
    each: int,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """x: [S, B, H, W, C], scale, shift: [S, C] -> y like x; means and variances [S, each, C]"""
    countable(x)
    cut, y = slabs_of(x, each, FORWARD), torch.empty_like(x)
    C, width, parts = cut.channels, cut.width, cut.parts
    partial = x.new_empty((cut.slabs, 2, parts, C), dtype=torch.float32)
    means, variances = (partial.new_empty((x.shape[0], each, C)) for _ in range(2))
    sum_kernel[(parts, cut.columns, cut.slabs)](
        x, partial, cut.pixels, cut.to_sum, parts, C, cut.block, width
    )  # fmt: skip
    apply_kernel[(-(-cut.pixels // cut.to_apply), cut.columns, cut.slabs)](
        x, partial, scale, shift, x if residual is None else residual, y, means, variances,
        cut.pixels, each, epsilon, cut.to_apply, parts, C, cut.space,
        relu, residual is not None, cut.block, width,
    )  # fmt: skip
    return y, means, variances


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
    epsilon: float,
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Gradients of x, of the residual (if any), and of (shift, scale): [S, each, 2, parts, C]"""
    each = means.shape[1]
    cut, to_x = slabs_of(x, each, BACKWARD), torch.empty_like(x)
    C, width, parts = cut.channels, cut.width, cut.parts
    to_residual = torch.empty_like(x) if add else None
    partial = x.new_empty((cut.slabs, 2, parts, C), dtype=torch.float32)
    back_sum_kernel[(parts, cut.columns, cut.slabs)](
        slope, x, y, means, variances, scale, shift, partial, cut.pixels, each, epsilon,
        cut.to_sum, parts, C, relu, add, cut.block, width,
    )  # fmt: skip
    back_apply_kernel[(-(-cut.pixels // cut.to_apply), cut.columns, cut.slabs)](
        slope, x, y, means, variances, scale, shift, partial,
        to_x, to_x if to_residual is None else to_residual,
        cut.pixels, each, epsilon, cut.to_apply, parts, C, cut.space,
        relu, add, cut.block, width,
    )  # fmt: skip
    return to_x, to_residual, torch.unflatten(partial, 0, (-1, each))

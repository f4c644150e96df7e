"""Triton kernels: scale, shift, addition and ReLU for many small networks at once.

Equal inputs give equal bits: sums over pixels are computed in parts of fixed size.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from bison_ocl.nets.kernels.normalisation_kernels import COUNTS
from bison_ocl.nets.kernels.over_runs import countable
from bison_ocl.nets.kernels.tiles import BACKWARD, FORWARD, slabs_of


@triton.jit
def affine_kernel(
    x, scale, shift, residual, y, R, LENGTH, C: tl.constexpr, RELU: tl.constexpr,
    ADD: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """y = relu(x · scale + shift + residual)"""
    run = tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    own_scale = tl.load(scale + run * C + c, mask=c < C, other=0.0)
    own_shift = tl.load(shift + run * C + c, mask=c < C, other=0.0)
    for first in range(0, LENGTH, BR):
        r = tl.program_id(0) * LENGTH + first + tl.arange(0, BR)
        place = (run * R + r)[:, None] * C + c[None, :]
        there = (r < R)[:, None] & (c < C)[None, :]
        value = tl.load(x + place, mask=there, other=0.0).to(tl.float32)
        value = value * own_scale[None, :] + own_shift[None, :]
        if ADD:
            value += tl.load(residual + place, mask=there, other=0.0).to(tl.float32)
        if RELU:
            value = tl.maximum(value, 0.0)
        tl.store(y + place, value.to(y.dtype.element_ty), mask=there)


@triton.jit(do_not_specialize=COUNTS)
def back_affine_kernel(
    slope, x, y, scale, to_x, to_residual, partial, R, LENGTH, PARTS,
    C: tl.constexpr, RELU: tl.constexpr, ADD: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """to_residual = g, to_x = g · scale; partial[run, :, part, c] = Σ g·x and Σ g of a part."""
    part, run = tl.program_id(0), tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    own_scale = tl.load(scale + run * C + c, mask=c < C, other=0.0)
    total, along = tl.zeros((BR, BC), tl.float32), tl.zeros((BR, BC), tl.float32)
    for first in range(0, LENGTH, BR):
        r = part * LENGTH + first + tl.arange(0, BR)
        place = (run * R + r)[:, None] * C + c[None, :]
        there = (r < R)[:, None] & (c < C)[None, :]
        g = tl.load(slope + place, mask=there, other=0.0).to(tl.float32)
        if RELU:
            g = tl.where(tl.load(y + place, mask=there, other=0.0) > 0, g, 0.0)
        if ADD:
            tl.store(to_residual + place, g.to(to_residual.dtype.element_ty), mask=there)
        total += g
        along += g * tl.load(x + place, mask=there, other=0.0).to(tl.float32)
        tl.store(to_x + place, (g * own_scale[None, :]).to(to_x.dtype.element_ty), mask=there)
    place = (run * 2 * PARTS + part) * C + c
    tl.store(partial + place, tl.sum(along, axis=0), mask=c < C)
    tl.store(partial + place + PARTS * C, tl.sum(total, axis=0), mask=c < C)


def affine(x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool) -> Tensor:
    """x, residual: [S, B, H, W, C], scale, shift: [S, C] -> y like x"""
    countable(x)
    cut, y = slabs_of(x, 1, FORWARD), torch.empty_like(x)
    affine_kernel[(-(-cut.pixels // cut.to_apply), cut.columns, cut.slabs)](
        x, scale, shift, x if residual is None else residual, y, cut.pixels, cut.to_apply,
        cut.channels, relu, residual is not None, cut.block, cut.width,
    )  # fmt: skip
    return y


def affine_back(
    slope: Tensor, x: Tensor, y: Tensor, scale: Tensor, relu: bool, add: bool
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Gradients of x, of the residual (if any), and of (scale, shift): [S, 2, parts, C]"""
    cut, to_x = slabs_of(x, 1, BACKWARD), torch.empty_like(x)
    to_residual = torch.empty_like(x) if add else None
    partial = x.new_empty((cut.slabs, 2, cut.parts, cut.channels), dtype=torch.float32)
    back_affine_kernel[(cut.parts, cut.columns, cut.slabs)](
        slope, x, y, scale, to_x, to_x if to_residual is None else to_residual, partial,
        cut.pixels, cut.to_sum, cut.parts, cut.channels, relu, add, cut.block, cut.width,
    )  # fmt: skip
    return to_x, to_residual, partial

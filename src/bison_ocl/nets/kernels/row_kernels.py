"""Triton kernels: 3x3 convolutions of large images, row by row.

Each program walks down some rows of a strip of pixels. It loads the patches of an image row once
and multiplies them with all three rows of the filters; convolution_kernels.py loads them once per
row of the filters. In bfloat16, outputs and image gradients are the same to the bit.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from bison_ocl.nets.kernels.over_runs import countable
from bison_ocl.nets.kernels.tiles import Walk, block, forward_walk, gradient_walk


@triton.jit
def filter_row(
    weight, row: tl.constexpr, k, o, C: tl.constexpr, O: tl.constexpr, FLIPPED: tl.constexpr
):  # fmt: skip
    """One row of the filters, rotated where FLIPPED; k is (column, c). [BK, BO]"""
    if FLIPPED:
        place = ((k % C * 9 + 8 - 3 * row - k // C) * O)[:, None] + o[None, :]
    else:
        place = ((o * 3 + row) * 3 * C)[None, :] + k[:, None]
    return tl.load(weight + place, mask=(k < 3 * C)[:, None] & (o < O)[None, :], other=0.0)


@triton.jit
def patches(x, start, there, h, k, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr):
    """The inputs of one filter row at image row h. start, there: at row 0. [BM, BK]"""
    inside = there & (h >= 0) & (h < H)
    return tl.load(x + (start + h * W * C)[:, None] + k[None, :], mask=inside, other=0.0)


@triton.jit
def strip(N, k, W: tl.constexpr, H: tl.constexpr, C: tl.constexpr, BM: tl.constexpr):
    """Images and columns of a program's pixels, where their patches start, which k are inside."""
    q = tl.program_id(0) * BM + tl.arange(0, BM)
    n, w = q // W, q % W
    column = (w - 1)[:, None] + (k // C)[None, :]
    there = (n < N)[:, None] & (column >= 0) & (column < W) & (k < 3 * C)[None, :]
    return n, w, (n * H * W + w - 1) * C, there


@triton.jit
def convolve_rows_kernel(
    x, weight, y, N, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    FLIPPED: tl.constexpr, ROWS: tl.constexpr, BM: tl.constexpr, BO: tl.constexpr,
    BK: tl.constexpr, ROUNDING: tl.constexpr,
):  # fmt: skip
    """y[s, n, h, w, o] = Σ_row Σ_k patch[s, n, h + row − 1, w, k] weight[s, o, row, k]

    Image row h completes the output row above it, continues its own and begins the one below.
    """
    run, first = tl.program_id(2).to(tl.int64), tl.program_id(1) * ROWS
    x += run * N * H * W * C
    y += run * N * H * W * O
    weight += run * O * 9 * C
    k, o = tl.arange(0, BK), tl.arange(0, BO)
    n, w, start, there = strip(N, k, W, H, C, BM)
    upper = filter_row(weight, 0, k, o, C, O, FLIPPED)
    middle = filter_row(weight, 1, k, o, C, O, FLIPPED)
    lower = filter_row(weight, 2, k, o, C, O, FLIPPED)
    place = ((n * H * W + w) * O)[:, None] + o[None, :]
    kept = (n < N)[:, None] & (o < O)[None, :]
    above, own = tl.zeros((BM, BO), tl.float32), tl.zeros((BM, BO), tl.float32)
    for h in range(first - 1, first + ROWS + 1):
        patch = patches(x, start, there, h, k, H, W, C)
        done = tl.dot(patch, lower, above, input_precision=ROUNDING)
        above = tl.dot(patch, middle, own, input_precision=ROUNDING)
        own = tl.dot(patch, upper, input_precision=ROUNDING)
        ours = kept & (h > first) & (h <= H)
        tl.store(y + place + (h - 1) * W * O, done.to(y.dtype.element_ty), mask=ours)


@triton.jit
def slope_row(slope, place, kept, h, first, last, W: tl.constexpr, O: tl.constexpr):
    """The output gradient at row h, zero outside the program's rows. [BM, BO]"""
    return tl.load(slope + place + h * W * O, mask=kept & (h >= first) & (h < last), other=0.0)


@triton.jit
def weight_gradient_rows_kernel(
    x, slope, partial, N, H: tl.constexpr, W: tl.constexpr, C: tl.constexpr, O: tl.constexpr,
    ROWS: tl.constexpr, BM: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr,
    ROUNDING: tl.constexpr,
):  # fmt: skip
    """partial[s, part, o, row, k] = Σ_(n, h, w) of a part patch[h + row − 1, k] slope[h, o]"""
    run, first = tl.program_id(2).to(tl.int64), tl.program_id(1) * ROWS
    last = tl.minimum(first + ROWS, H)
    x += run * N * H * W * C
    slope += run * N * H * W * O
    k, o = tl.arange(0, BK), tl.arange(0, BO)
    n, w, start, there = strip(N, k, W, H, C, BM)
    place = ((n * H * W + w) * O)[:, None] + o[None, :]
    kept = (n < N)[:, None] & (o < O)[None, :]
    upper, middle = tl.zeros((BK, BO), tl.float32), tl.zeros((BK, BO), tl.float32)
    lower = tl.zeros((BK, BO), tl.float32)
    for h in range(first - 1, last + 1):
        patch = tl.trans(patches(x, start, there, h, k, H, W, C))
        below = slope_row(slope, place, kept, h + 1, first, last, W, O)
        upper = tl.dot(patch, below, upper, input_precision=ROUNDING)
        own = slope_row(slope, place, kept, h, first, last, W, O)
        middle = tl.dot(patch, own, middle, input_precision=ROUNDING)
        above = slope_row(slope, place, kept, h - 1, first, last, W, O)
        lower = tl.dot(patch, above, lower, input_precision=ROUNDING)
    part = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    parts = tl.num_programs(0) * tl.num_programs(1)
    partial += (run * parts + part) * O * 9 * C
    place = (o * 9 * C)[None, :] + k[:, None]
    kept = (k < 3 * C)[:, None] & (o < O)[None, :]
    tl.store(partial + place, upper, mask=kept)
    tl.store(partial + place + 3 * C, middle, mask=kept)
    tl.store(partial + place + 6 * C, lower, mask=kept)


def convolve(x: Tensor, weight: Tensor, rounding: str, flipped: bool) -> Tensor:
    """A convolution; with flipped filters, the image gradient of one.

    x: [S, N, H, W, C], weight: [S, O, 3, 3, C], flipped [S, C, 3, 3, O] -> [S, N, H, W, O]
    """
    S, N, H, W, C = x.shape
    O = weight.shape[4 if flipped else 1]
    y, walk = x.new_empty((S, N, H, W, O)), forward_walk(H, C)
    countable(x, y)
    convolve_rows_kernel[(*walk.grid(N, H, W), S)](
        x, weight, y, N, H, W, C, O, flipped, walk.rows, walk.pixels, block(O, 32),
        block(3 * C, 64), rounding, num_warps=walk.warps, num_stages=loads(walk, x),
    )  # fmt: skip
    return y


def weight_gradient(x: Tensor, slope: Tensor, rounding: str) -> Tensor:
    """x: [S, N, H, W, C], slope: [S, N, H, W, O] -> [S, parts, O, 3, 3, C] in float32"""
    S, N, H, W, C = x.shape
    O, walk = slope.shape[-1], gradient_walk(H)
    strips, walks = walk.grid(N, H, W)
    partial = x.new_empty((S, strips * walks, O, 3, 3, C), dtype=torch.float32)
    countable(x, slope)
    weight_gradient_rows_kernel[(strips, walks, S)](
        x, slope, partial, N, H, W, C, O, walk.rows, walk.pixels, block(O, 32),
        block(3 * C, 64), rounding, num_warps=walk.warps, num_stages=loads(walk, x),
    )  # fmt: skip
    return partial


def loads(walk: Walk, x: Tensor) -> int:
    """Loads in flight; one of float32, whose patches fill the shared memory of smaller GPUs."""
    return walk.stages if x.itemsize == 2 else 1

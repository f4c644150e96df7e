"""Triton kernels: convolutions of many small networks at once.

With images stored as [S, N, H, W, C], the three pixels that one row of a 3x3 filter covers are 3C
contiguous numbers. A convolution is therefore three matrix products, one per row of the filter; the
image gradient of a stride of two needs one per filter position. Each program computes a tile of one
of the S networks. Without atomics, equal inputs give equal bits.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from bison_ocl.nets.kernels import row_kernels
from bison_ocl.nets.kernels.over_runs import countable
from bison_ocl.nets.kernels.tiles import (
    ROOM,
    STEP,
    block,
    depth,
    goes_by_rows,
    length,
    stages,
    tile,
)


@triton.jit
def patch_rows(
    x, m, row, k, M, H: tl.constexpr, W: tl.constexpr, HO: tl.constexpr, WO: tl.constexpr,
    C: tl.constexpr, SIDE: tl.constexpr, STRIDE: tl.constexpr,
):  # fmt: skip
    """The inputs of one filter row for the output pixels m, zero outside the image. [BM, BK]"""
    n, place = m // (HO * WO), m % (HO * WO)
    h = place // WO * STRIDE - SIDE // 2 + row
    left = place % WO * STRIDE - SIDE // 2
    w = left[:, None] + (k // C)[None, :]
    there = ((m < M) & (h >= 0) & (h < H))[:, None] & (w >= 0) & (w < W) & (k < SIDE * C)[None, :]
    start = ((n * H + h) * W + left) * C
    return tl.load(x + start[:, None] + k[None, :], mask=there, other=0.0)


@triton.jit
def convolve_kernel(
    x, weight, y, M, H: tl.constexpr, W: tl.constexpr, HO: tl.constexpr, WO: tl.constexpr,
    C: tl.constexpr, O: tl.constexpr, SIDE: tl.constexpr, STRIDE: tl.constexpr,
    FLIPPED: tl.constexpr, BM: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr,
    ROUNDING: tl.constexpr,
):  # fmt: skip
    """y[s, m, o] = Σ_row Σ_k patch[s, m, row, k] weight[s, o, row, k]

    k is (column, c). FLIPPED uses weight[s, c, −row, −column, o], the rotated filters of the
    convolution whose image gradient this computes.
    """
    run = tl.program_id(2).to(tl.int64)
    x += run * (M // (HO * WO)) * H * W * C
    weight += run * O * SIDE * SIDE * C
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    total = tl.zeros((BM, BO), dtype=tl.float32)
    chunks: tl.constexpr = (SIDE * C + BK - 1) // BK
    for i in range(SIDE * chunks):
        row = i // chunks
        k = i % chunks * BK + tl.arange(0, BK)
        patch = patch_rows(x, m, row, k, M, H, W, HO, WO, C, SIDE, STRIDE)
        there = (k < SIDE * C)[:, None] & (o < O)[None, :]
        if FLIPPED:
            back = (k % C * SIDE + SIDE - 1 - row) * SIDE + SIDE - 1 - k // C
            place = (back * O)[:, None] + o[None, :]
        else:
            place = ((o * SIDE + row) * SIDE * C)[None, :] + k[:, None]
        filters = tl.load(weight + place, mask=there, other=0.0)
        total = tl.dot(patch, filters, total, input_precision=ROUNDING)
    place = (run * M + m)[:, None] * O + o[None, :]
    tl.store(y + place, total.to(y.dtype.element_ty), mask=(m < M)[:, None] & (o < O)[None, :])


@triton.jit
def slopes_of(slope, n, h, w, o, there, HO: tl.constexpr, WO: tl.constexpr, O: tl.constexpr):
    """The output gradient at pixels (n, h, w) and channels o, zero outside the image. [BM, BK]"""
    there = there & (h >= 0) & (h < HO) & (w >= 0) & (w < WO)
    place = (((n * HO + h) * WO + w) * O)[:, None] + o[None, :]
    return tl.load(slope + place, mask=there[:, None] & (o < O)[None, :], other=0.0)


@triton.jit
def filters_of(weight, o, row, column, c, SIDE: tl.constexpr, C: tl.constexpr, O: tl.constexpr):
    """The weights of the filters o at one filter position. [BK, BC]"""
    place = (((o * SIDE + row) * SIDE + column) * C)[:, None] + c[None, :]
    return tl.load(weight + place, mask=(o < O)[:, None] & (c < C)[None, :], other=0.0)


@triton.jit
def halved_gradient_kernel(
    slope, weight, to_x, M, H: tl.constexpr, W: tl.constexpr, HO: tl.constexpr, WO: tl.constexpr,
    C: tl.constexpr, O: tl.constexpr, SIDE: tl.constexpr,
    BM: tl.constexpr, BC: tl.constexpr, BK: tl.constexpr, ROUNDING: tl.constexpr,
):  # fmt: skip
    """to_x[s, n, h, w, c] = Σ_row Σ_column Σ_o slope[s, n, h', w', o] weight[s, o, row, column, c]

    The image gradient of a convolution of stride 2. A filter row reads every other image row,
    h = 2h' + row − SIDE // 2. A program therefore takes pixels (2a + low, 2b + right) with fixed
    low and right, each 0 or 1: the same filter positions contribute to all of them.
    """
    run, parity = (tl.program_id(2) // 4).to(tl.int64), tl.program_id(2) % 4
    low, right = parity // 2, parity % 2
    down, across = SIDE // 2 + low, SIDE // 2 + right
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    n, a, b = m // (HO * WO), m // WO % HO, m % WO
    rows, columns = (SIDE + 1 - down % 2) // 2, (SIDE + 1 - across % 2) // 2
    chunks: tl.constexpr = (O + BK - 1) // BK
    slope += run * M * O
    weight += run * O * SIDE * SIDE * C
    total = tl.zeros((BM, BC), dtype=tl.float32)
    for i in range(rows * columns * chunks):
        place, o = i // chunks, i % chunks * BK + tl.arange(0, BK)
        row, column = down % 2 + place // columns * 2, across % 2 + place % columns * 2
        h, w = a + (down - row) // 2, b + (across - column) // 2
        slopes = slopes_of(slope, n, h, w, o, m < M, HO, WO, O)
        filters = filters_of(weight, o, row, column, c, SIDE, C, O)
        total = tl.dot(slopes, filters, total, input_precision=ROUNDING)
    h, w = 2 * a + low, 2 * b + right
    place = (((run * (M // (HO * WO)) + n) * H + h) * W + w) * C
    there = ((m < M) & (h < H) & (w < W))[:, None] & (c < C)[None, :]
    tl.store(to_x + place[:, None] + c[None, :], total.to(to_x.dtype.element_ty), mask=there)


@triton.jit
def weight_gradient_kernel(
    x, slope, partial, M, PARTS,
    H: tl.constexpr, W: tl.constexpr, HO: tl.constexpr, WO: tl.constexpr, C: tl.constexpr,
    O: tl.constexpr, SIDE: tl.constexpr, STRIDE: tl.constexpr,
    LENGTH: tl.constexpr, BM: tl.constexpr, BO: tl.constexpr, BK: tl.constexpr,
    ROUNDING: tl.constexpr,
):  # fmt: skip
    """partial[s, part, o, row, k] = Σ_m of a part  patch[s, m, row, k] slope[s, m, o]"""
    chunks: tl.constexpr = (SIDE * C + BK - 1) // BK
    piece, part = tl.program_id(0), tl.program_id(1)
    run = tl.program_id(2).to(tl.int64)
    x += run * (M // (HO * WO)) * H * W * C
    slope += run * M * O
    row = piece % (SIDE * chunks) // chunks
    k = piece % chunks * BK + tl.arange(0, BK)
    o = piece // (SIDE * chunks) * BO + tl.arange(0, BO)
    total = tl.zeros((BK, BO), dtype=tl.float32)
    for first in range(0, LENGTH, BM):
        m = part * LENGTH + first + tl.arange(0, BM)
        patch = patch_rows(x, m, row, k, M, H, W, HO, WO, C, SIDE, STRIDE)
        there = (m < M)[:, None] & (o < O)[None, :]
        slopes = tl.load(slope + m[:, None] * O + o[None, :], mask=there, other=0.0)
        total = tl.dot(tl.trans(patch), slopes, total, input_precision=ROUNDING)
    place = ((((run * PARTS + part) * O + o) * SIDE + row) * SIDE * C)[None, :] + k[:, None]
    tl.store(partial + place, total, mask=(k < SIDE * C)[:, None] & (o < O)[None, :])


def convolve(x: Tensor, weight: Tensor, stride: int, rounding: str) -> Tensor:
    """x: [S, N, H, W, C], weight: [S, O, k, k, C] -> [S, N, H', W', O]"""
    return by_filter_rows(x, weight, stride, rounding, flipped=False)


def image_gradient(
    slope: Tensor, weight: Tensor, stride: int, height: int, width: int, rounding: str
) -> Tensor:
    """slope: [S, N, H', W', O], weight: [S, O, k, k, C] -> [S, N, height, width, C]"""
    if stride == 1:
        return by_filter_rows(slope, weight, 1, rounding, flipped=True)
    if stride != 2:
        raise ValueError(f"stride {stride}: expected 1 or 2")
    S, N, HO, WO, O = slope.shape
    side, C = weight.shape[3:]
    M = N * HO * WO
    BM, BC, BK = *tile(M, C, 4 * S), depth(O)
    to_x = slope.new_empty((S, N, height, width, C))
    countable(slope, to_x)
    halved_gradient_kernel[(triton.cdiv(M, BM), triton.cdiv(C, BC), 4 * S)](
        slope, weight, to_x, M, height, width, HO, WO, C, O, side, BM, BC, BK, rounding,
        num_warps=4, num_stages=stages(O, (BM + BC) * BK * slope.itemsize, room(slope.device)),
    )  # fmt: skip
    return to_x


def by_filter_rows(
    x: Tensor, weight: Tensor, stride: int, rounding: str, *, flipped: bool
) -> Tensor:
    """A convolution; with flipped filters, the image gradient of one of stride 1.

    x: [S, N, H, W, C], weight: [S, O, k, k, C], flipped [S, C, k, k, O] -> [S, N, H', W', O]
    """
    S, N, H, W, C = x.shape
    O, side = weight.shape[4 if flipped else 1], weight.shape[2]
    if goes_by_rows(H, C, O, side, stride):
        return row_kernels.convolve(x, weight, rounding, flipped)
    HO, WO = -(-H // stride), -(-W // stride)
    y = x.new_empty((S, N, HO, WO, O))
    countable(x, y)
    M = N * HO * WO
    BM, BO, BK = *tile(M, O, S), block(side * C, 64)
    convolve_kernel[(triton.cdiv(M, BM), triton.cdiv(O, BO), S)](
        x, weight, y, M, H, W, HO, WO, C, O, side, stride, flipped, BM, BO, BK, rounding,
        num_warps=4 if BM == 64 else 8,
        num_stages=stages(C, (BM + BO) * BK * x.itemsize, room(x.device)),
    )  # fmt: skip
    return y


def weight_gradient(
    x: Tensor, slope: Tensor, side: int, stride: int, parts: int, rounding: str
) -> Tensor:
    """x: [S, N, H, W, C], slope: [S, N, H', W', O] -> [S, parts, O, side, side, C] in float32"""
    S, N, H, W, C = x.shape
    HO, WO, O = slope.shape[2:]
    if goes_by_rows(H, C, O, side, stride):
        return row_kernels.weight_gradient(x, slope, rounding)
    M = N * HO * WO
    BO, BK = block(O, 64), block(side * C, 64)
    pieces = triton.cdiv(O, BO) * side * triton.cdiv(side * C, BK)
    partial = x.new_empty((S, parts, O, side, side, C), dtype=torch.float32)
    countable(x, slope)
    weight_gradient_kernel[(pieces, parts, S)](
        x, slope, partial, M, parts, H, W, HO, WO, C, O, side, stride, length(M, parts),
        STEP, BO, BK, rounding, num_warps=4,
        num_stages=stages(C, STEP * (BO + BK) * x.itemsize, room(x.device)),
    )  # fmt: skip
    return partial


@cache
def room(device: torch.device) -> int:
    """Bytes of shared memory per multiprocessor of a GPU; those of an H200 for other devices."""
    if device.type != "cuda":
        return ROOM
    return int(
        triton.runtime.driver.active.utils.get_device_properties(device.index)["max_shared_mem"]
    )

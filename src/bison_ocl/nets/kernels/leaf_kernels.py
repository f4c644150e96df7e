"""Work on all tensors of many networks in few launches, as Triton kernels.

A network has a hundred tensors, most of them small, so that a launch for each takes longer than its
work. One launch here takes up to LEAVES tensors, each [runs, n], in a fixed place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

LEAVES = 32
"""tensors per launch"""
BLOCK = 2048
"""numbers per turn of a program's loop"""
PROGRAMS = 16
"""programs per tensor and run"""


@triton.jit
def check_kernel(leaves, sizes, finite, LEAVES: tl.constexpr, BLOCK: tl.constexpr):
    """finite[run] = 0 where a number is NaN or infinite. Whoever writes, writes the same."""
    leaf, run = tl.program_id(1), tl.program_id(2)
    n = tl.load(sizes + leaf)
    for i in tl.static_range(LEAVES):
        if leaf == i:
            wrong = tl.zeros((BLOCK,), tl.int32)
            for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
                place = first + tl.arange(0, BLOCK)
                x = tl.load(leaves[i] + run.to(tl.int64) * n + place, mask=place < n, other=0.0)
                exponent = x.to(tl.int32, bitcast=True) & 0x7F800000
                wrong += (exponent == 0x7F800000).to(tl.int32)
            if tl.sum(wrong, axis=0) > 0:
                tl.store(finite + run, 0)


@triton.jit
def restore_kernel(made, before, sizes, finite, LEAVES: tl.constexpr, BLOCK: tl.constexpr):
    """made[run] = before[run] where the run is not finite; the others cost no memory traffic."""
    leaf, run = tl.program_id(1), tl.program_id(2)
    n = tl.load(sizes + leaf)
    if tl.load(finite + run) == 0:
        for i in tl.static_range(LEAVES):
            if leaf == i:
                start = run.to(tl.int64) * n
                for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
                    place = first + tl.arange(0, BLOCK)
                    word = tl.load(before[i] + start + place, mask=place < n, other=0)
                    tl.store(made[i] + start + place, word, mask=place < n)


@triton.jit
def average_kernel(
    leaves, sizes, offsets, old, new, weight, P, LEAVES: tl.constexpr, BLOCK: tl.constexpr
):
    """new = old + weight (leaf − old), with the leaves of a run side by side in [runs, P]."""
    leaf, run = tl.program_id(1), tl.program_id(2)
    n = tl.load(sizes + leaf)
    there = run.to(tl.int64) * P + tl.load(offsets + leaf)
    w = tl.load(weight + run)
    for i in tl.static_range(LEAVES):
        if leaf == i:
            for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
                place = first + tl.arange(0, BLOCK)
                x = tl.load(leaves[i] + run.to(tl.int64) * n + place, mask=place < n, other=0.0)
                a = tl.load(old + there + place, mask=place < n, other=0.0)
                tl.store(new + there + place, a + w * (x - a), mask=place < n)


def checked(leaves: Sequence[Tensor], finite: Tensor) -> Tensor:
    """finite, overwritten by 0 where a leaf is not. leaves: float32 [runs, n], finite: uint8 [S]"""
    for part in parts(leaves):
        launched(check_kernel, part, [leaves], finite)
    return finite


def restored(made: Sequence[Tensor], before: Sequence[Tensor], finite: Tensor) -> Sequence[Tensor]:
    """made, overwritten by before in runs that are not finite; both [runs, n] in 32-bit words."""
    for part in parts(made):
        launched(restore_kernel, part, [made, before], finite)
    return made


def average(leaves: Sequence[Tensor], old: Tensor, weight: Tensor) -> Tensor:
    """old + weight (leaves − old); leaves: [runs, n], old: [runs, P], weight: [runs]"""
    new = torch.empty_like(old)
    starts = [0]
    for leaf in leaves:
        starts.append(starts[-1] + leaf.shape[1])
    for part in parts(leaves):
        offsets = constants(tuple(starts[i] for i in part), old.device)
        launched(average_kernel, part, [leaves], offsets, old, new, weight, old.shape[1])
    return new


def parts(leaves: Sequence[Tensor]) -> Iterator[list[int]]:
    """Places of the leaves of each launch, large ones together."""
    order = sorted(range(len(leaves)), key=lambda i: leaves[i].shape[1])
    for first in range(0, len(order), LEAVES):
        yield order[first : first + LEAVES]


def launched(kernel: Any, part: list[int], trees: list[Sequence[Tensor]], *rest: object) -> None:
    """One launch over some of the leaves; places that are left over have length 0."""
    spare = LEAVES - len(part)
    sizes = tuple(trees[0][i].shape[1] for i in part)
    chosen = [tuple(leaves[i] for i in [*part, *part[:1] * spare]) for leaves in trees]
    first = chosen[0][0]
    programs = max(1, min(PROGRAMS, -(-max(sizes) // BLOCK)))
    grid = (programs, len(part), first.shape[0])
    numbers = constants((*sizes, *(0,) * spare), first.device)
    kernel[grid](*chosen, numbers, *rest, LEAVES=LEAVES, BLOCK=BLOCK)


@cache
def constants(numbers: tuple[int, ...], device: torch.device) -> Tensor:
    """Integers on a device; kept, because a graph cannot be captured while they are copied."""
    return torch.tensor(numbers, dtype=torch.int32, device=device)

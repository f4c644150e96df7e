"""Tiling of the kernels: by shapes alone, so that results are reproducible to the bit.

Chosen on an H200, those for images of 32x32 by benchmarks/tiles.json; other GPUs compute the same
sums in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from torch import Tensor

MULTIPROCESSORS = 132
"""multiprocessors of an H200, the least number of programs that run at once"""
FULL = 3 * MULTIPROCESSORS // 2
"""programs of a convolution that fill the GPU, counting those that end early"""
ROOM = 232_448
"""bytes of shared memory per multiprocessor"""
STEP = 64
"""output pixels per step of a weight-gradient program"""
TALL = 64
"""rows of images whose convolutions go row by row; 32 would gain a tenth forwards and lose later"""
FORWARD, BACKWARD = 128, 64
"""pixels per step of a normalisation program; the backward pass holds more of each"""
WIDTH = 32
"""most channels of a normalisation program"""
MOST_PARTS, LONG = 32, 16
"""most parts of a normalisation's sum over pixels, unless more have at least `LONG` steps each:
every program that reads the sum adds them, `MOST_PARTS` at a time"""


def block(size: int, most: int) -> int:
    """The smallest power of two that holds `size`, from 16 to `most`."""
    return min(most, max(16, power_of_two(size)))


def power_of_two(size: int) -> int:
    """The smallest power of two of at least `size`."""
    return 1 << (size - 1).bit_length()


def tile(pixels: int, channels: int, runs: int) -> tuple[int, int]:
    """Output pixels and channels of one program: the largest tile that still fills the GPU."""
    for high, wide in ((128, 128), (128, 64), (128, 32), (64, 64)):
        width = block(channels, wide)
        if -(-pixels // high) * -(-channels // width) * runs >= FULL:
            return high, width
    return 64, block(channels, 32)


def depth(channels: int) -> int:
    """Channels that one product sums over: all if few, else 32, which pads 80 and 160 least."""
    return block(channels, 64) if channels <= 64 else 32


def stages(channels: int, load: int, room: int) -> int:
    """The number of loads in flight: one if channels are few, since short loops overlap anyway.

    load: bytes of one load, room: bytes of shared memory; the number changes no result
    """
    return 1 if channels <= 40 else max(1, min(3, room // load))


def parts_of_gradient(pixels: int, inputs: int, outputs: int, side: int, runs: int) -> int:
    """The number of parts of a sum over pixels: enough to fill the GPU, more if parts stay long.

    Each part costs an addition later. Two programs per multiprocessor are worth parts as short as
    four steps; eight hide latency better, but only pay if every part has at least ten steps.
    """
    columns, rows = -(-outputs // block(outputs, 64)), -(-side * inputs // block(side * inputs, 64))
    programs = columns * side * rows * runs
    enough = min(2 * MULTIPROCESSORS // programs, pixels // (4 * STEP))
    more = min(8 * MULTIPROCESSORS // programs, pixels // (10 * STEP))
    return -(-pixels // length(pixels, max(1, enough, more)))


def length(pixels: int, parts: int) -> int:
    """Pixels of a part, in whole steps."""
    return -(-pixels // (parts * STEP)) * STEP


@dataclass(frozen=True)
class Walk:
    """Tiling of a 3x3 convolution row by row: each program walks down some rows of a strip."""

    rows: int
    """Output rows of a program."""
    pixels: int
    """Pixels of a strip, over the columns of all images."""
    warps: int
    stages: int
    """Loads of bfloat16 in flight."""

    def grid(self, images: int, height: int, width: int) -> tuple[int, int]:
        """Strips side by side, and walks from top to bottom."""
        return -(-images * width // self.pixels), -(-height // self.rows)


def goes_by_rows(height: int, inputs: int, outputs: int, side: int, stride: int) -> bool:
    """Whether a convolution is faster row by row: of tall images with few channels.

    A walk reads two rows more than it writes, and a program holds whole patches and all filters.
    """
    few = 3 * inputs <= 64 and outputs <= 32
    return few and height >= TALL and (side, stride) == (3, 1)


def forward_walk(height: int, inputs: int) -> Walk:
    """Walk of a convolution; three channels are little to load, and prefer small programs."""
    return Walk(-(-height // 3), 128, 8, 3) if inputs > 4 else Walk(-(-height // 6), 64, 4, 2)


def gradient_walk(height: int) -> Walk:
    """Walk of a weight gradient; every program is a part of the sum."""
    return Walk(-(-height // 3), 64, 4, 2)


@dataclass(frozen=True)
class Slabs:
    """Tiling of batch normalisation; a slab is one part of one run's batch."""

    slabs: int
    pixels: int
    """of a slab"""
    channels: int
    block: int
    """Pixels per step of a program."""

    @property
    def width(self) -> int:
        """Channels of a program."""
        return block(self.channels, WIDTH)

    @property
    def columns(self) -> int:
        return -(-self.channels // self.width)

    @property
    def wanted(self) -> int:
        """Programs per slab: about four per multiprocessor over all slabs."""
        return max(1, 4 * MULTIPROCESSORS // (self.slabs * self.columns))

    @property
    def to_sum(self) -> int:
        """Pixels of a part of a sum."""
        most = max(MOST_PARTS, self.pixels // (LONG * self.block))
        return self._pixels_for(min(self.wanted, most))

    @property
    def parts(self) -> int:
        """The number of parts of a sum over a slab's pixels."""
        return -(-self.pixels // self.to_sum)

    @property
    def space(self) -> int:
        """Parts that a program adds at a time."""
        return power_of_two(min(self.parts, MOST_PARTS))

    @property
    def to_apply(self) -> int:
        """Pixels of an elementwise program."""
        return self._pixels_for(2 * self.wanted)

    def _pixels_for(self, programs: int) -> int:
        return -(-self.pixels // (programs * self.block)) * self.block


def slabs_of(x: Tensor, each: int, block: int) -> Slabs:
    """x: [..., B, H, W, C], dots: axes of runs, B in `each` parts"""
    slabs, channels = prod(x.shape[:-4]) * each, x.shape[-1]
    return Slabs(slabs, x.numel() // (slabs * channels), channels, block)

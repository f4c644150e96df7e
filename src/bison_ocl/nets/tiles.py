"""How the kernels cut their work into programs: by shapes alone, so that bits never depend on luck.

Chosen on an H200; another GPU computes the same sums in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

MULTIPROCESSORS = 132
"""Programs that a GPU works on at a time, at least."""
STEP = 64
"""Output pixels that a program of the weight gradient takes at once."""
FORWARD, BACKWARD = 128, 64
"""Pixels that a program of the normalisation takes at once; backwards it holds more of each."""
WIDTH = 32
"""Channels that it takes, at most."""
MOST_PARTS = 32
"""Into how many parts a normalisation's sum over pixels is cut, at most: all who read it add up."""


def block(size: int, most: int) -> int:
    """The smallest power of two that holds `size`, from 16 to `most`."""
    return min(most, max(16, power_of_two(size)))


def power_of_two(size: int) -> int:
    """The smallest one that is not below `size`."""
    return 1 << (size - 1).bit_length()


def tile(pixels: int, channels: int, runs: int) -> tuple[int, int]:
    """Output pixels and channels of one program: the largest tile that still fills the GPU."""
    for high, wide in ((128, 128), (128, 64), (128, 32), (64, 64)):
        width = block(channels, wide)
        if 2 * -(-pixels // high) * -(-channels // width) * runs >= 3 * MULTIPROCESSORS:
            return high, width
    return 64, block(channels, 32)


def stages(channels: int) -> int:
    """How many loads are kept in flight: for few channels the loop is short, more programs do."""
    return 1 if channels <= 40 else 3


def parts_of_gradient(pixels: int, inputs: int, outputs: int, side: int, runs: int) -> int:
    """Into how many parts the sum over pixels is cut: enough to fill the GPU, more if all are long.

    Parts are added up later, so that many short ones cost more than they save.
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
class Slabs:
    """How batch normalisation is dealt out; a slab is one part of one run's batch."""

    slabs: int
    pixels: int
    """of a slab"""
    channels: int
    block: int
    """Pixels that a program takes at once."""

    @property
    def width(self) -> int:
        """Channels of a program."""
        return block(self.channels, WIDTH)

    @property
    def columns(self) -> int:
        return -(-self.channels // self.width)

    @property
    def wanted(self) -> int:
        """Programs for the pixels of a slab that fill the GPU together with the other slabs'."""
        return max(1, 4 * MULTIPROCESSORS // (self.slabs * self.columns))

    @property
    def to_sum(self) -> int:
        """Pixels of a part of a sum."""
        return self._pixels_for(min(self.wanted, MOST_PARTS))

    @property
    def parts(self) -> int:
        """Of a sum over a slab's pixels."""
        return -(-self.pixels // self.to_sum)

    @property
    def to_apply(self) -> int:
        """Pixels of a program that changes them one by one."""
        return self._pixels_for(2 * self.wanted)

    def _pixels_for(self, programs: int) -> int:
        return -(-self.pixels // (programs * self.block)) * self.block

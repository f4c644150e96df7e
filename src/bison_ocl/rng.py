"""Named, counter-based randomness: a draw is a pure function of (seed, step, name).

The mixing is SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number
generators").
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

Shape = Sequence[int]

# The 64-bit constants of SplitMix64, written as the signed numbers torch.int64 holds.
GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
SECOND = 0x94D049BB133111EB - (1 << 64)
LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Key:
    """The source of draws: 64 well-mixed bits per run. bits: int64 []"""

    bits: Tensor

    def named(self, name: str) -> Key:
        """The key of a draw `name`, derived from this one."""
        return Key(mix(self.bits ^ name_bits(name)))


def key(seed: Tensor, step: Tensor, name: str) -> Key:
    """The key of the draw `name` of run `seed` at `step`."""
    return Key(mix(mix(seed * GOLDEN + FIRST) + step * GOLDEN)).named(name)


def key_of(seed: int, step: int, name: str) -> Key:
    """The same key from plain numbers, for work outside the training step."""
    return key(torch.tensor(seed), torch.tensor(step), name)


def bits(key: Key, shape: Shape) -> Tensor:
    """Uniform 64-bit integers, negative ones included."""
    return mix(key.bits + counts(key, math.prod(shape)) * GOLDEN).reshape(tuple(shape))


def counts(key: Key, n: int) -> Tensor:
    """1, 2, ..., n. The mask changes none; without it compilers fold products into 32 bits."""
    return torch.arange(1, n + 1, device=key.bits.device) & LARGEST


def uniform(key: Key, shape: Shape) -> Tensor:
    """Numbers in [0, 1) of 24 bits: exact in every dtype they are cast to."""
    return to_unit(bits(key, shape))


def uniforms(key: Key, shapes: Mapping[str, Shape]) -> dict[str, Tensor]:
    """Several uniform draws from one mixing."""
    sizes = [math.prod(shape) for shape in shapes.values()]
    parts = torch.split(uniform(key, (sum(sizes),)), sizes)
    return {
        name: part.reshape(tuple(shape))
        for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def integers(key: Key, high: Tensor | int, shape: Shape) -> Tensor:
    """Integers in [0, high), from 63 bits, uniform however long the stream."""
    return unsigned_shift(bits(key, shape), 1) % high


def permutation(key: Key, n: int) -> Tensor:
    """The numbers 0..n-1 in random order."""
    return unsigned_shift(bits(key, (n,)), 1).argsort()


def rows(key: Key, n: int, width: int) -> Tensor:
    """Uniform numbers [n, width]; row i depends on i but not on n."""
    start = mix(key.bits + counts(key, n) * GOLDEN)
    return to_unit(mix(start[:, None] + counts(key, width) * GOLDEN))


def to_unit(x: Tensor) -> Tensor:
    """The upper 24 bits as a number in [0, 1)."""
    return unsigned_shift(x, 40).to(torch.float32) * 2.0**-24


def mix(x: Tensor) -> Tensor:
    """SplitMix64's finaliser: every output bit depends on every input bit."""
    x = (x ^ unsigned_shift(x, 30)) * FIRST
    x = (x ^ unsigned_shift(x, 27)) * SECOND
    return x ^ unsigned_shift(x, 31)


def unsigned_shift(x: Tensor, by: int) -> Tensor:
    """Shift right and fill with zeros (torch's own shift of int64 repeats the sign)."""
    return (x >> by) & ((1 << (64 - by)) - 1)


@cache
def name_bits(name: str) -> int:
    """A name as a signed 64-bit number, the same in every process."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), signed=True)

"""Files damaged by chance, the same for the same seed, and what reading them may end in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import TypeVar

from bison_ocl.errors import UserError

T = TypeVar("T")


def flipped(data: bytes, draw: random.Random) -> bytes:
    """One bit turned."""
    place = draw.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]


def overwritten(data: bytes, draw: random.Random) -> bytes:
    """Up to eight bytes replaced, often by the largest or smallest number."""
    place = draw.randrange(len(data))
    count = min(draw.choice([1, 2, 4, 8]), len(data) - place)
    new = draw.choice([b"\xff" * 8, b"\0" * 8, draw.randbytes(8)])[:count]
    return data[:place] + new + data[place + count :]


def truncated(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def extended(data: bytes, draw: random.Random) -> bytes:
    return data + draw.randbytes(draw.randrange(1, 64))


def cut_out(data: bytes, draw: random.Random) -> bytes:
    """A few bytes missing in the middle."""
    place = draw.randrange(len(data))
    return data[:place] + data[place + draw.randrange(1, 16) :]


def doubled(data: bytes, draw: random.Random) -> bytes:
    """A few bytes written twice."""
    place = draw.randrange(len(data))
    return data[: place + draw.randrange(1, 16)] + data[place:]


KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(flipped, overwritten) * 3,
    *(truncated, extended, cut_out, doubled),
)


def mutations(data: bytes, seed: int, count: int) -> Iterator[bytes]:
    """`count` damaged copies of a file that is not empty, each with one fault; half at either end.

    Headers and directories are small and at either end, and most faults that matter lie in them.
    """
    draw = random.Random(seed)
    edge = min(512, len(data))
    for _ in range(count):
        mutate = draw.choice(KINDS)
        match draw.randrange(4):
            case 0:
                yield mutate(data[:edge], draw) + data[edge:]
            case 1:
                yield data[:-edge] + mutate(data[-edge:], draw)
            case _:
                yield mutate(data, draw)


def read_or_refused(read: Callable[[], T]) -> T | None:
    """What reading gives; None where it was refused in one line. Any other error is a fault."""
    try:
        return read()
    except UserError as error:
        if "\n" in str(error):
            raise
        return None

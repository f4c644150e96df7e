"""What reading an untrusted file may cost; a file that asks for more is refused before it gets it.

A few bytes can ask for gigabytes: a length in a header, zeros that were compressed, a picture of
one colour. Every reader of this package therefore spends a budget, which official files never use
up. Only regular files are opened: a pipe or a device could be waited for, or read, for ever.
"""

from __future__ import annotations

import io
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bison_ocl.errors import UserError


@dataclass
class Budget:
    """An amount to spend; `over` is the error of a reader that would spend more."""

    left: int
    over: Exception

    def spend(self, amount: int = 1) -> None:
        self.left -= amount
        if self.left < 0:
            raise self.over


@dataclass
class Pool:
    """An amount that threads borrow; a thread that asks for more than is left waits."""

    left: int
    returned: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def borrowed(self, amount: int) -> Iterator[None]:
        with self.returned:
            self.returned.wait_for(lambda: self.left >= amount)
            self.left -= amount
        try:
            yield
        finally:
            with self.returned:
                self.left += amount
                self.returned.notify_all()


class Bounded(io.BufferedReader):
    """A file of which nobody may ask for more than `at_once` bytes in one read."""

    def __init__(self, raw: io.FileIO, path: Path, at_once: int) -> None:
        super().__init__(raw)
        self.path, self.at_once = path, at_once

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self.at_once:
            raise UserError(f"{self.path} asks for {size:,} bytes at once: use another copy")
        return super().read(size)


def open_regular(path: Path, most: int, at_once: int | None = None) -> Bounded:
    """A file of at most so many bytes, or a link to one; nothing is waited for."""
    raw = open(path, "rb", buffering=0, opener=without_waiting)  # noqa: SIM115 - Bounded closes it
    file = Bounded(raw, path, at_once or most)
    about = os.fstat(raw.fileno())
    if not stat.S_ISREG(about.st_mode):
        file.close()
        raise UserError(f"{path} is not a regular file: give the path of one")
    if about.st_size > most:
        file.close()
        raise UserError(f"{path} has {about.st_size:,} bytes, but at most {most:,} are read")
    return file


def without_waiting(path: str, flags: int) -> int:
    """Open a pipe that nobody writes to as well: what it is can then be seen."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most so many bytes."""
    with open_regular(path, most) as file:
        return file.read()

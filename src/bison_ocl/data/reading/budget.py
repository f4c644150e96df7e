"""Budgets for reading untrusted files: a file that exceeds one is refused beforehand.

A few bytes can demand gigabytes: a length in a header, compressed zeros, a picture of one colour.
Every reader of this package therefore spends a budget, which official files never exhaust. Only
regular files are opened: reading a pipe or a device could block or continue forever.
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
    """An amount to spend; spending more raises `over`."""

    left: int
    over: Exception

    def spend(self, amount: int = 1) -> None:
        self.left -= amount
        if self.left < 0:
            raise self.over


@dataclass
class SharedBudget:
    """An amount that threads borrow from; a thread waits if too little is left."""

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
    """A file that refuses reads of more than `at_once` bytes."""

    def __init__(self, raw: io.FileIO, path: Path, at_once: int) -> None:
        super().__init__(raw)
        self.path, self.at_once = path, at_once

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > self.at_once:
            raise UserError(f"{self.path} asks for {size:,} bytes at once: use another copy")
        return super().read(size)


def open_regular(path: Path, most: int, at_once: int | None = None) -> Bounded:
    """Open a regular file, or a link to one, of at most `most` bytes, without blocking."""
    raw = open(path, "rb", buffering=0, opener=without_waiting)  # noqa: SIM115 - Bounded closes it
    file = Bounded(raw, path, at_once or most)
    about = os.fstat(raw.fileno())
    if not stat.S_ISREG(about.st_mode):
        file.close()
        raise UserError(f"{path} is not a regular file: give the path of one")
    if about.st_size > most:
        file.close()
        raise UserError(f"{path} has {about.st_size:,} bytes: expected at most {most:,}")
    return file


def without_waiting(path: str, flags: int) -> int:
    """Open without blocking, so that a pipe can be recognised and refused."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes."""
    with open_regular(path, most) as file:
        return file.read()

"""Disks that fail, for tests: full ones, and system calls that raise one by one."""

from __future__ import annotations

import builtins
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bison_ocl.errors import UserError

CALLS = ("open", "write", "fsync", "replace", "rename", "ftruncate", "unlink")
"""of `os`, which change a disk"""


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Writes past `size` bytes of any file fail; Python ignores the signal that comes with it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Failing:
    """Counts the calls that change a disk, and lets one raise, or all from that one on."""

    def __init__(self, at: int, error: BaseException, for_good: bool = False) -> None:
        self.at, self.error, self.for_good = at, error, for_good
        self.calls: list[str] = []

    @property
    def failed(self) -> bool:
        return len(self.calls) >= self.at

    def __call__(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) == self.at or (self.for_good and self.failed):
                raise self.error
            return call(*arguments, **options)

        return counted


@contextmanager
def failing(at: int, error: BaseException, for_good: bool = False) -> Iterator[Failing]:
    """The call number `at`, counted from 1, raises instead of changing the disk."""
    found = Failing(at, error, for_good)
    plain = open

    def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if not set(mode) & set("wxa"):
            return plain(file, mode, *rest, **options)
        return Counted(found("open", plain)(file, mode, *rest, **options), found)

    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, found(name, getattr(os, name)))
        patch.setattr(builtins, "open", opened)
        yield found


class Counted:
    """A file whose writes count."""

    def __init__(self, file: Any, found: Failing) -> None:
        self.file = file
        self.write = found("write", file.write)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> Counted:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def complaint(call: Callable[..., object], *arguments: Any) -> str | None:
    """What a call says that it cannot do; None if it can."""
    try:
        call(*arguments)
    except UserError as error:
        return str(error)
    return None

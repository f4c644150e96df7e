"""Files that survive a crash: on the disk before anybody relies on them, replaced in one rename."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from bison_ocl.errors import UserError, reason


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by another in one rename, durably."""
    if not path.name:
        raise UserError(f"cannot write {path}: name a file in it")
    temporary = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        why = reason(error)
        raise UserError(f"cannot write {path}: {why}; free or choose another place") from error


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def durable(path: Path) -> Iterator[IO[bytes]]:
    """A new file that is on the disk when the block ends."""
    with open(path, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def check_writable(folder: Path, option: str = "--out") -> None:
    """Fail before an hour of training, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe.{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        where = f"cannot write to {folder}: {reason(error)}"
        raise UserError(f"{where}; choose another {option}") from error

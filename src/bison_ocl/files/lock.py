"""Locks between processes; a lock ends with its process, however that ends."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from bison_ocl.errors import UserError, reason


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file, waiting for it if needed."""
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Hold a lock, refused if another process holds it."""
    with open(path, "ab") as file:
        with refusing(what), needing_locks(path.parent):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn a held lock into a one-line error."""
    try:
        yield
    except BlockingIOError as error:
        raise UserError(f"another process works on {what}: wait for it or stop it") from error


@contextmanager
def needing_locks(folder: Path) -> Iterator[None]:
    """Turn missing lock support of a file system into a one-line error."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        raise UserError(
            f"cannot lock files in {folder}: {reason(error)}; choose another --out on a local disk"
        ) from error


# --- many claims in one file, for one descriptor ---

PRESENCE = 0
"""the byte that all processes with the open file lock together"""


@contextmanager
def claimed(path: Path, wanted: Mapping[int, str]) -> Iterator[None]:
    """Hold numbered claims, refused if another process holds one of them.

    A claim is a lock on one byte of the file. The last process to leave removes the file.
    """
    try:
        handle = opened(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}; choose another --out") from error
    try:
        for number, what in wanted.items():
            with refusing(what), needing_locks(path.parent):
                lock_byte(handle, fcntl.F_WRLCK, PRESENCE + 1 + number)
        yield
    finally:
        leave(handle, path)
        os.close(handle)


def opened(path: Path) -> int:
    """Open and share the file; open it again if another process removed it meanwhile."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            with needing_locks(path.parent):
                lock_byte(handle, fcntl.F_RDLCK, PRESENCE, wait=True)
            if is_at(path, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def leave(handle: int, path: Path) -> None:
    """Remove the file unless another process uses it, which then removes it."""
    with suppress(OSError):
        lock_byte(handle, fcntl.F_UNLCK, PRESENCE)
        lock_byte(handle, fcntl.F_WRLCK, PRESENCE)
        if is_at(path, handle):
            path.unlink()


def is_at(path: Path, handle: int) -> bool:
    """Whether an open file still has its name."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def lock_byte(handle: int, kind: int, number: int, wait: bool = False) -> None:
    """Lock one byte per open file rather than per process, so that threads exclude each other."""
    request = struct.pack("hhqqi4x", kind, os.SEEK_SET, number, 1, 0)
    fcntl.fcntl(handle, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, request)

"""Lets one process at a time do something; a lock ends with the process, whatever ends that."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bison_ocl.errors import UserError


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for a lock on a file."""
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Refuse to do what another process does right now."""
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"another process works on {what}: wait for it or stop it") from error
        yield

"""A lock and thread-local attributes that reset in copies and pickles."""

from __future__ import annotations

import threading


class Lock:
    """A re-entrant lock; a copy is a new one, free."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def acquire(self, timeout: float) -> bool:
        """Whether it is taken, within so many seconds."""
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


class PerThread(threading.local):
    """Attributes that are local to each thread."""

    def __reduce__(self) -> tuple[type[PerThread], tuple[()]]:
        return PerThread, ()

"""A lock and thread-local attributes that reset in copies and pickles."""

from __future__ import annotations

import threading


class Turns:
    """A re-entrant lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def taken(self, wait: bool) -> bool:
        """Take the lock, waiting for it or only if it is free; whether it was taken."""
        return self._lock.acquire(blocking=wait)

    def given_back(self) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()


class Own(threading.local):
    """Attributes that are local to each thread."""

    def __reduce__(self) -> tuple[type[Own], tuple[()]]:
        return Own, ()

"""What threads take in turns, and what each has of its own; a copy or a pickle begins anew."""

from __future__ import annotations

import threading


class Turns:
    """A lock that the thread which holds it may take again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Turns], tuple[()]]:
        return Turns, ()


class Own(threading.local):
    """Attributes of which every thread sees its own."""

    def __reduce__(self) -> tuple[type[Own], tuple[()]]:
        return Own, ()

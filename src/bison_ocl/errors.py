"""Errors that a user can fix, each in one line that says what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """Bad input that the caller can fix; the command prints it and exits with status 2."""


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """`unknown method 'bisson': did you mean 'bison'?`, or the choices if none is close.

    The name follows the first word of its kind: `unknown setting 'beta' of er`.
    """
    noun, space, owner = kind.partition(" ")
    close = get_close_matches(name, known := list(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}"
    return f"unknown {noun} {name!r}{space}{owner}: {hint}"


def plural(n: int, noun: str) -> str:
    """`1 image`, `2 images`, `2 classes`."""
    ending = "es" if noun.endswith("s") else "s"
    return f"{n} {noun}" if n == 1 else f"{n} {noun}{ending}"


def first_line(error: BaseException) -> str:
    """The first line of an error's message; its kind where the message is empty."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def reason(error: OSError) -> str:
    """The system's reason for a file error, such as `No space left on device`."""
    return error.strerror or str(error)


FULL = re.compile(r"can't allocate memory|out of memory|cannot allocate memory|ALLOC_FAILED", re.I)
"""out-of-memory messages of PyTorch, CUDA and the system"""
ASKED = re.compile(r"tried to allocate ([\d.]+ \w+)", re.I)


def shortage(error: BaseException) -> str | None:
    """A one-line message if an error means out of memory; None for other errors."""
    if not isinstance(error, MemoryError) and not FULL.search(str(error)):
        return None
    asked = ASKED.search(str(error))
    more = f" (tried to allocate {asked[1]})" if asked else ""
    return f"out of memory{more}: lower --memory, --seeds-at-once or --processes"

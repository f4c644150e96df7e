"""The library's own exception: bad input, said in one line that tells what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """Something the caller can mend; the command prints it and exits with status 2."""


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """`unknown method 'bisson': did you mean 'bison'?`, or the list where nothing is close."""
    close = get_close_matches(name, known := list(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(known)}"
    return f"unknown {kind} {name!r}: {hint}"


def reason(error: OSError) -> str:
    """Why a file could not be used: what the system says of it, `No space left on device`."""
    return error.strerror or str(error)


FULL = re.compile(r"can't allocate memory|out of memory|cannot allocate memory|ALLOC_FAILED", re.I)
"""how PyTorch, CUDA and the system say that there is no memory left"""
ASKED = re.compile(r"tried to allocate ([\d.]+ \w+)", re.I)


def shortage(error: BaseException) -> str | None:
    """In one line that memory ran out, if that is what an error says."""
    if not isinstance(error, MemoryError) and not FULL.search(str(error)):
        return None
    asked = ASKED.search(str(error))
    more = f" ({asked[1]} more were asked for)" if asked else ""
    return f"out of memory{more}: lower --memory, --seeds-at-once or --processes"

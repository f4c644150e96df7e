"""Output to limited streams: ASCII-only, closed or full."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper


def forgiving() -> None:
    """Show a question mark for characters that a stream cannot encode."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, TextIOWrapper):
            output.reconfigure(errors="replace")


def undelivered() -> OSError | None:
    """Flush standard output; the error if that fails."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        discard(1)
        return error
    return None


def tell(line: str) -> None:
    """Print a line on standard error, or nothing if that fails."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        discard(2)


def discard(handle: int) -> None:
    """Redirect a stream to nowhere, so that the interpreter can exit without an error."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, handle)
        os.close(nowhere)

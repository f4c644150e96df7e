"""Standard output and standard error as they may be: without letters, closed, or full."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper


def forgiving() -> None:
    """Where a terminal has no dash, show a question mark."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, TextIOWrapper):
            output.reconfigure(errors="replace")


def undelivered() -> OSError | None:
    """Write out all that was printed; why it could not be written, if so."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        discard(1)
        return error
    return None


def tell(line: str) -> None:
    """Say something on standard error, if it can be said."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        discard(2)


def discard(handle: int) -> None:
    """Send what is left to write nowhere, so that the interpreter can end in peace."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, handle)
        os.close(nowhere)

"""How the command begins and how it ends: one line where something is wrong, and a status."""

from __future__ import annotations

import sys

from bison_ocl.cli.fail import explained, fail
from bison_ocl.cli.interrupt import STOPPED, TOLD, ending_imports
from bison_ocl.cli.output import forgiving, undelivered
from bison_ocl.errors import reason

CLOSED = 1
"""The status where nobody reads on, as in `bison-ocl methods | head -1`."""


def start() -> None:
    """Run the command and end the process."""
    forgiving()
    try:
        with ending_imports():
            called()
    except SystemExit as end:
        status = end.code
    error = undelivered()
    if error is None or status:  # what went wrong first was said
        sys.exit(status)
    if isinstance(error, BrokenPipeError):
        sys.exit(CLOSED)
    fail(f"cannot write to standard output: {reason(error)}", 2)


def called() -> None:
    """Run the command; it ends in SystemExit, or in an error that is our own fault."""
    try:
        from bison_ocl.cli.app import app

        status = app(standalone_mode=False)
    except KeyboardInterrupt:
        status = STOPPED
    except Exception as error:
        told = explained(error)
        if told is None:
            raise
        fail(*told)
    if status == STOPPED:
        fail(TOLD, STOPPED)
    sys.exit(status if isinstance(status, int) else 0)

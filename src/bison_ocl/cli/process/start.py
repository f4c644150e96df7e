"""Start and end of the command: any error becomes one line and an exit status."""

from __future__ import annotations

import sys

from bison_ocl.cli.process.fail import explained, fail
from bison_ocl.cli.process.interrupt import STOPPED, TOLD, ending_imports
from bison_ocl.cli.process.output import forgiving, undelivered
from bison_ocl.errors import reason

CLOSED = 1
"""the exit status if the reader closes the output, as in `bison-ocl methods | head -1`"""


def start() -> None:
    """Run the command and end the process."""
    forgiving()
    try:
        with ending_imports():
            called()
    except SystemExit as end:
        status = end.code
    error = undelivered()
    if error is None or status:  # the first error has been reported
        sys.exit(status)
    if isinstance(error, BrokenPipeError):
        sys.exit(CLOSED)
    fail(f"cannot write to standard output: {reason(error)}", 2)


def called() -> None:
    """Run the command; it ends in SystemExit, or in an error that is a fault of the program."""
    try:
        from bison_ocl.cli.app import app

        status = app(standalone_mode=False)
    except KeyboardInterrupt:
        status = STOPPED
    except Exception as error:
        explanation = explained(error)
        if explanation is None:
            raise
        fail(*explanation)
    if status == STOPPED:
        fail(TOLD, STOPPED)
    sys.exit(status if isinstance(status, int) else 0)

"""Ctrl-C: a status and a line, whatever is going on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bison_ocl.cli.output import tell

STOPPED = 130
"""The status after Ctrl-C."""
TOLD = "stopped; what is finished is kept: the same command goes on, `run` with --resume"
IMPORTING = "<frozen importlib._bootstrap>"
"""the file that Python names for its import system"""


@contextmanager
def ending_imports() -> Iterator[None]:
    """Let Ctrl-C end the process at once where it comes while something is imported.

    Whoever imports may take it for an import that failed, and go on without: torch does so
    without NumPy.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, as in `bison-ocl run ... &`
        yield
        return
    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def interrupted(number: int, frame: FrameType | None) -> None:
    """End the process if it imports; otherwise interrupt it, as Python does."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            tell(f"bison-ocl: {TOLD}")
            os._exit(STOPPED)
        frame = frame.f_back
    raise KeyboardInterrupt

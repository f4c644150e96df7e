"""Ctrl-C: one line and an exit status, at any moment."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bison_ocl.cli.process.output import tell

STOPPED = 130
"""the exit status after Ctrl-C"""
TOLD = "stopped; finished runs are kept: repeat the command to continue (`run` with --resume)"
IMPORTING = "<frozen importlib._bootstrap>"
"""the file name of Python's import system in stack frames"""


@contextmanager
def ending_imports() -> Iterator[None]:
    """Let Ctrl-C during an import end the process at once.

    The importing package could mistake it for a failed import and continue: torch continues
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
    """End a process that imports; raise KeyboardInterrupt in any other, as Python does."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            tell(f"bison-ocl: {TOLD}")
            os._exit(STOPPED)
        frame = frame.f_back
    raise KeyboardInterrupt

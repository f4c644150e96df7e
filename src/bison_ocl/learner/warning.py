"""Warnings of a learner, at the line of the caller's program."""

from __future__ import annotations

import sys
import warnings


def warn(message: str) -> None:
    """Warn at the line of the caller's program that called us, however deep inside we are."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("bison_ocl."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)

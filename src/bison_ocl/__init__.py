"""Balanced online class-incremental learning: BISON and its baselines."""

from __future__ import annotations

from bison_ocl.waiting import wait_briefly

TYPE_CHECKING = False
"""as in `typing`, whose import would take longer than the rest of this file"""
if TYPE_CHECKING:
    from typing import Any

    from bison_ocl.errors import UserError
    from bison_ocl.learner.learner import Learner

__all__ = ["Learner", "UserError"]

wait_briefly()


def __getattr__(name: str) -> Any:
    """Import on first use, so that commands that compute nothing do not wait for torch."""
    if name == "Learner":
        from bison_ocl.learner.learner import Learner

        return Learner
    if name == "UserError":
        from bison_ocl.errors import UserError

        return UserError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Which other readouts of its network (`--also`) apply to a method."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.errors import UserError, unknown
from bison_ocl.inference.readouts import READOUTS
from bison_ocl.methods.method import Method


def check_also(readouts: Sequence[str], method: Method) -> None:
    """Refuse readouts that do not exist or do not apply to the method."""
    for name in readouts:
        if (found := fault(name, method)) is not None:
            raise UserError(found)


def fault(name: str, method: Method) -> str | None:
    """Why a readout does not apply to a method; None if it does."""
    if name not in READOUTS:
        raise UserError(unknown("rule for --also", name, READOUTS))
    if READOUTS[name].rule is not None and not method.replays:
        return f"--also {name} needs a memory, but this method has none"
    if READOUTS[name].weights == "averaged" and "average" in method.ignores:
        return f"--also {name} needs averaged weights, but this method keeps none"
    if READOUTS[name].weights == "averaged" and not method.average:
        return f"--also {name} needs averaged weights: add --average 0.995"
    return None

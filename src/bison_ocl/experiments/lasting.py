"""Seconds in words that fit their size."""

from __future__ import annotations

UNITS = (("days", 86_400), ("h", 3_600), ("min", 60))


def lasting(seconds: float) -> str:
    """`45 s`, `12.0 min`, `3.5 h`, `2.1 days`."""
    for unit, size in UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"

"""Parameters of a stream in text form, such as `disjoint=50,spill=10`: read, checked, written."""

from __future__ import annotations

from collections.abc import Mapping

from bison_ocl.errors import UserError, unknown

Ranges = Mapping[str, tuple[float, float]]
"""Smallest and largest value of each parameter."""


def read(stream: str, text: str, defaults: Mapping[str, float]) -> dict[str, float]:
    """All parameters of a stream, those of the text instead of their defaults."""
    given: dict[str, float] = {}
    for part in text.split(",") if text.strip() else []:
        name, _, value = (word.strip() for word in part.partition("="))
        if not defaults:
            raise UserError(f"stream {stream} has no parameters: leave out {text!r}")
        if name not in defaults:
            raise UserError(unknown(f"parameter of stream {stream}", name, defaults))
        if name in given:
            raise UserError(f"parameter {name} of stream {stream} is given twice")
        given[name] = number(name, value)
    return {**defaults, **given}


def number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{name}={text}: give a number, such as {name}=10") from None


def check(ranges: Ranges, **values: float) -> None:
    """Values outside their range are refused."""
    for name, value in values.items():
        low, high = ranges[name]
        if not low <= value <= high:
            raise UserError(f"{name}={written(value)}: give a number from {low:g} to {high:g}")


def written(value: float) -> str:
    """The shortest text that reads as the same number."""
    return str(int(value)) if float(value).is_integer() else repr(value)

"""Read, check and write parameters of a stream, such as `disjoint=50,spill=10`."""

from __future__ import annotations

from collections.abc import Mapping

from bison_ocl.errors import UserError, unknown

Ranges = Mapping[str, tuple[float, float]]
"""smallest and largest value of each parameter"""


def read(stream: str, text: str, defaults: Mapping[str, float]) -> dict[str, float]:
    """All parameters of a stream: those of the text, and defaults for the others."""
    given: dict[str, float] = {}
    for part in text.split(",") if text.strip() else []:
        name, _, value = (word.strip() for word in part.partition("="))
        if not defaults:
            raise UserError(f"stream {stream} has no parameters: leave out {text!r}")
        if name not in defaults:
            raise UserError(unknown(f"parameter of stream {stream}", name, defaults))
        if name in given:
            raise UserError(f"parameter {name} of stream {stream} is given twice: give it once")
        given[name] = number(name, value)
    return {**defaults, **given}


def number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{name}={text}: expected a number, such as {name}=10") from None


def check(ranges: Ranges, **values: float) -> None:
    """Refuse values outside their range."""
    for name, value in values.items():
        low, high = ranges[name]
        if not low <= value <= high:
            raise UserError(f"{name}={written(value)}: expected a number from {low:g} to {high:g}")


def written(value: float) -> str:
    """The shortest text for a number."""
    return str(int(value)) if float(value).is_integer() else repr(value)

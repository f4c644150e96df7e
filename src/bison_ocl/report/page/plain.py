"""Charts and tables as plain JSON, and what many of them share kept once."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from bison_ocl.look import Look

Contents = dict[str, Any]

SYMBOLS = {
    "": "circle",
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "D": "diamond",
    "d": "diamond-tall",
    "P": "cross",
    "X": "x",
    "x": "x-thin-open",
    "p": "pentagon",
    "h": "hexagon",
    "8": "octagon",
    "*": "star-triangle-down",
    (5, 1, 0): "star",
    (6, 1, 0): "hexagram",
    (3, 1, 0): "star-triangle-up",
    (4, 1, 0): "star-diamond",
    (8, 1, 0): "star-square",
}
"""Matplotlib's markers as Plotly calls them; others become circles"""
DASHES = {"-": "solid", "--": "dash", "-.": "dashdot", ":": "dot"}
DIGITS = 4
"""kept of a number: what is printed is rounded once only"""


class Pool:
    """Values that many runs share, each kept once and named by its place."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, value: Any) -> int:
        key = json.dumps(value)
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(value)
        return self._places[key]


def plain(value: Any) -> Any:
    """Dataclasses as objects without their defaults, numbers rounded, NaN as null."""
    if isinstance(value, Look):
        return drawn(value)
    if is_dataclass(value):
        pairs = ((field, getattr(value, field.name)) for field in fields(value))
        return {
            field.name: plain(one)
            for field, one in pairs
            if field.default is MISSING or one != field.default
        }
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return round(value, DIGITS) if math.isfinite(value) else None
    return value


def drawn(look: Look) -> Contents:
    """How Plotly draws what Matplotlib draws."""
    return {
        "colour": look.colour,
        "symbol": SYMBOLS.get(look.marker, "circle") + "-open" * look.hollow,
        "dash": DASHES.get(look.dashes, "solid"),
        "width": look.width,
        "bare": not look.marker,
    }

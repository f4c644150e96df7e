"""Bounds of a method's settings, written as their types: `temperature: Positive = 0.07`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

Setting = bool | int | float | str
"""a value of a setting"""
Presets = Mapping[str, Mapping[str, Setting]]
"""settings by dataset"""


class Bound:
    """The range of a setting; a reader of its type sees the words."""

    def __init__(self, holds: Callable[[float], bool], words: str) -> None:
        self.holds, self.words = holds, words

    def __repr__(self) -> str:
        return self.words


Positive = Annotated[float, Bound(lambda value: value > 0, "a number above 0")]
Share = Annotated[float, Bound(lambda value: 0 <= value <= 1, "a number from 0 to 1")]
Decay = Annotated[float, Bound(lambda value: 0 <= value < 1, "a number from 0 to below 1")]


def as_text(value: Setting) -> str:
    """A value of a setting as `--set` takes it, with all of its digits."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def assigned(settings: Mapping[str, Setting]) -> str:
    """`beta=0.3, lambda=1`"""
    return ", ".join(f"{name}={as_text(value)}" for name, value in settings.items())

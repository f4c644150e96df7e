"""Names from folders and records as one line that every format and terminal can show."""

from __future__ import annotations

from typing import Any
from unicodedata import category

HIDDEN = ("Cc", "Zl", "Zp")
"""control characters, line and paragraph separators"""
BROKEN = "Cs"
"""bytes of a file's name that are no text"""


def printable(text: str) -> str:
    """A space for each character that would end a line or move a terminal's cursor."""
    if text.isprintable():
        return text
    kinds = ((sign, category(sign)) for sign in text)
    return "".join(
        " " if k in HIDDEN else "\N{REPLACEMENT CHARACTER}" if k == BROKEN else s for s, k in kinds
    )


def with_printable_names(value: Any) -> Any:
    """A record with its texts made printable; lists of numbers stay as they are."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): with_printable_names(one) for key, one in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [printable(one) for one in value]
    return value

"""Labels and ids as names: told apart by their type, as text, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence, Set
from typing import Any

from bison_ocl.errors import UserError

Names = Set[tuple[type, Hashable]]
"""labels or ids, each as `with_type` makes it"""


def with_type(value: Hashable) -> tuple[type, Hashable]:
    """A label or id with its type, also within tuples: 1, 1.0 and True differ."""
    if isinstance(value, tuple):
        return tuple, tuple(map(with_type, value))
    return type(value), value


def display_names(labels: Sequence[Hashable]) -> list[str]:
    """Labels as text, each different: those that print the same as in Python, 1 and '1'."""
    printed = [str(label) for label in labels]
    counts = Counter(printed)
    found = [
        text if counts[text] == 1 else repr(label)
        for text, label in zip(printed, labels, strict=True)
    ]
    # A label may read like another one in Python.
    return found if len(set(found)) == len(found) else [repr(label) for label in labels]


def encode(label: Hashable, what: str = "label") -> Any:
    """A label or id for JSON; tuples keep their type."""
    if isinstance(label, tuple):
        return {"tuple": [encode(item, what) for item in label]}
    if label is None or isinstance(label, str | int | float | bool):
        return label
    raise UserError(
        f"{what} {label!r} of type {type(label).__name__} cannot be saved: "
        f"use strings, numbers, booleans or tuples of them"
    )


def decode(value: Any) -> Hashable:
    """A label from JSON."""
    if isinstance(value, dict) and isinstance(value.get("tuple"), list):
        return tuple(decode(item) for item in value["tuple"])
    if isinstance(value, list | dict) or value != value:
        raise UserError(f"the file has {value!r:.60} for a label: use another copy")
    label: Hashable = value
    return label

"""Labels and ids as callers give them, as plain Python values; refused if none can be made."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from bison_ocl.errors import UserError, plural
from bison_ocl.learner.labels.names import Names, encode, with_type

ONE = {"label": "a label", "id": "an id"}
"""what a value names, in messages"""
LONGEST = 13_000
"""bits of a whole number, fewer than the 4,300 digits that Python prints and reads"""


def plain_labels(labels: Any, what: str = "label") -> list[Hashable]:
    """Labels or ids as plain Python values, also from arrays and tensors."""
    if getattr(labels, "ndim", 1) > 1:
        raise UserError(
            f"{what}s are of shape {list(labels.shape)}: give one {what} per image, such as "
            f"{what}s[:, 0] of one column, or {what}s.argmax(1) of one-hot rows"
        )
    values = labels.tolist() if hasattr(labels, "tolist") else labels
    unordered = isinstance(values, str | bytes | set | frozenset | dict)
    if unordered or not isinstance(values, Iterable):
        raise UserError(
            f"{what}s must be a sequence with one {what} per image, not {type(labels).__name__}"
        )
    return [plain(value, what) for value in values]


def class_labels(labels: Any) -> list[Hashable]:
    """Labels to learn: plain values but None, by which `predict` rejects an image."""
    found = plain_labels(labels)
    if None in found:
        raise UserError("a label is None, which predict returns for rejections: leave it out")
    return found


def plain_names(names: Any, what: str) -> Names:
    """Labels or ids to forget, in any order. None is no name: images without an id have it."""
    values = names.tolist() if hasattr(names, "tolist") else names
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise UserError(f"forget {values!r}: expected a list, such as [{values!r}]")
    found = [plain(value, what) for value in values]
    if None in found:
        raise UserError(f"forget None: expected {what}s of images, and None is no {what}")
    return {with_type(value) for value in found}


def plain_ids(ids: Any, images: int) -> list[Hashable]:
    """Names of images as plain values that a file can hold, one per image."""
    names = plain_labels(ids, "id")
    check_one_each(images, len(names), "id")
    for name in names:
        encode(name, "id")
    return names


def check_one_each(images: int, names: int, what: str) -> None:
    """Refuse labels or ids that are not as many as the images."""
    if images != names:
        found = f"{plural(images, 'image')} but {plural(names, what)}"
        raise UserError(f"{found}: give one {what} per image")


def for_images(single: bool, labels: Any) -> Any:
    """A single image may come with its label alone; a list or an array has one label per image."""
    several = isinstance(labels, list) or getattr(labels, "ndim", 0) > 0
    return [labels] if single and not several else labels


def plain(value: Any, what: str = "label") -> Hashable:
    """A label or id as a plain Python value, refused if it is not hashable."""
    if isinstance(value, tuple):
        return tuple(plain(item, what) for item in value)
    try:
        value = builtin_value(value.item() if hasattr(value, "item") else value)
        hash(value)
        unequal = bool(value != value)
    except (TypeError, ValueError, RuntimeError) as error:
        kind = type(value).__name__
        raise UserError(
            f"{ONE[what]} of type {kind} is not one hashable value: use a string, number or tuple"
        ) from error
    if unequal:
        raise UserError(f"{ONE[what]} is NaN, which equals no other: leave that image out")
    if isinstance(value, int) and value.bit_length() > LONGEST:
        raise UserError(f"{ONE[what]} is a number of {value.bit_length():,} bits: use a string")
    label: Hashable = value
    return label


def builtin_value(value: Any) -> Any:
    """A str, int or float for one of a subclass, such as a StrEnum, whose type no file keeps."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value

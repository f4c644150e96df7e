"""Map the caller's labels to class ids in order of first appearance."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence, Set
from typing import Any

from bison_ocl.errors import UserError, plural

ONE = {"label": "a label", "id": "an id"}
"""what a value names, in messages"""
LONGEST = 13_000
"""bits of a whole number, fewer than the 4,300 digits that Python prints and reads"""
Names = Set[tuple[type, Hashable]]
"""labels or ids, each as `with_type` makes it"""


class Labels:
    """Distinct labels with their class numbers, at most `limit`; in order of appearance.

    A new label takes the lowest free number, so that one that was forgotten leaves its place.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._limit = limit
        self._fit_for_files = True

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def all(self) -> list[Hashable]:
        return list(self._numbers)

    @property
    def numbers(self) -> list[int]:
        """The class number of each label."""
        return list(self._numbers.values())

    @property
    def rows(self) -> int:
        """Rows that heads need for these numbers."""
        return max(self._numbers.values(), default=-1) + 1

    def number(self, label: Hashable) -> int:
        return self._numbers[label]

    def added(self, labels: Iterable[Hashable]) -> Labels:
        """A list with these labels too; the list itself if none is new."""
        fresh = [label for label in labels if label not in self._numbers]
        if not fresh:
            return self
        longer = self._copy()
        longer.add(fresh)
        return longer

    def without(self, labels: Names) -> Labels:
        """The other labels, with their numbers."""
        fewer = self._copy()
        kept = [one for one in self._numbers if with_type(one) not in labels]
        fewer._numbers = {one: self._numbers[one] for one in kept}
        return fewer

    def without_limit(self) -> Labels:
        """The same labels without a limit."""
        longer = self._copy()
        longer._limit = None
        return longer

    def _copy(self) -> Labels:
        other = copy.copy(self)
        other._numbers = self._numbers.copy()
        return other

    def add(self, labels: Iterable[Hashable]) -> bool:
        """Add labels; whether any was new."""
        before, taken = len(self), set(self._numbers.values())
        free = (number for number in itertools.count() if number not in taken)
        for label in labels:
            if label not in self._numbers:
                self._warn_of_files(label)
                self._numbers[label] = next(free)
        return len(self) > before

    def check_room(self, labels: Iterable[Hashable]) -> None:
        """Refuse labels beyond the limit, or easily confused, before learning from them."""
        found = distinct([*self._numbers, *labels])
        if self._limit is not None and len(found) > self._limit:
            *known, extra = list(found)[: self._limit + 1]
            listed = ", ".join(map(repr, known[:5])) + ", ..." * (len(known) > 5)
            raise UserError(
                f"label {extra!r} would be class {self._limit + 1} of {self._limit} (after "
                f"{listed}): call allow_more_classes() first, or make a learner without classes="
            )

    def _warn_of_files(self, label: Hashable) -> None:
        """Warn once, before training, about a label that `save` would refuse."""
        try:
            encode(label)
        except UserError as error:
            if self._fit_for_files:
                warnings.warn(str(error), stacklevel=2)
            self._fit_for_files = False

    def encoded(self) -> list[Any]:
        """The labels as JSON values."""
        return [encode(label) for label in self.all]

    @classmethod
    def decoded(cls, values: list[Any], numbers: list[int], limit: int | None) -> Labels:
        """Labels from a file, refused if one occurs twice."""
        labels = cls(limit)
        labels.check_room(found := [decode(value) for value in values])
        labels._numbers = dict(zip(found, numbers, strict=True))
        if len(labels) < len(found):
            raise UserError("the file names a label twice: use another copy")
        return labels


def plain_labels(labels: Any, what: str = "label") -> list[Hashable]:
    """Labels or ids as plain Python values, also from arrays and tensors."""
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


def distinct(labels: Iterable[Hashable]) -> dict[Hashable, Hashable]:
    """Labels without repetitions. Python takes True, 1 and 1.0 for equal: they are not merged."""
    found: dict[Hashable, Hashable] = {}
    for label in labels:
        if with_type(known := found.setdefault(label, label)) != with_type(label):
            raise UserError(
                f"labels {known!r} and {label!r} are equal in Python: use one type for all labels"
            )
    return found


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


def with_type(value: Hashable) -> tuple[type, Hashable]:
    """A label or id with its type, also within tuples: 1, 1.0 and True differ."""
    if isinstance(value, tuple):
        return tuple, tuple(map(with_type, value))
    return type(value), value


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

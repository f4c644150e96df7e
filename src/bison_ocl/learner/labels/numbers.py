"""Map the caller's labels to class ids in order of first appearance."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from bison_ocl.errors import UserError
from bison_ocl.learner.labels.names import Names, decode, encode, with_type
from bison_ocl.learner.warning import warn


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
                warn(str(error))
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


def distinct(labels: Iterable[Hashable]) -> dict[Hashable, Hashable]:
    """Labels without repetitions. Python takes True, 1 and 1.0 for equal: they are not merged."""
    found: dict[Hashable, Hashable] = {}
    for label in labels:
        if with_type(known := found.setdefault(label, label)) != with_type(label):
            raise UserError(
                f"labels {known!r} and {label!r} are equal in Python: use one type for all labels"
            )
    return found


def check_types(learned: Sequence[Hashable], given: Sequence[Hashable]) -> None:
    """Refuse labels of another type than learned: True would count as right for 1, '1' as wrong."""
    known = set(learned)
    by_text = {str(label): label for label in learned}
    for label in distinct([*learned, *given]):
        if label not in known and str(label) in by_text:
            raise UserError(
                f"label {label!r} is unknown, but {by_text[str(label)]!r} is learned: "
                "give labels of the type that was learned"
            )

"""Validation of the fields of a record, so that readers can rely on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

Check = Callable[[object], bool]
Values = dict[str, Any]
"""a line of results.jsonl as JSON gives it"""

LARGEST = 1e40
"""limit of measured values: beyond float32, with a finite square"""
MOST_THREADS = 4096
NUMBERS = {int, float}
NUMBERS_OR_NONE = {int, float, type(None)}

# --- kinds of values; compared by `type`, because a bool is an instance of int ---


def text(value: object) -> bool:
    return type(value) is str


def count(value: object, least: int = 0, most: int = 2**53) -> bool:
    return type(value) is int and least <= value <= most


def number(value: object, least: float = -LARGEST, most: float = LARGEST) -> bool:
    return (type(value) is int or type(value) is float) and least <= value <= most


def amount(value: object) -> bool:
    """A time or a size, small enough for an axis."""
    return number(value, 0, 1e12)


def share(value: object) -> bool:
    """An accuracy or a difference of accuracies."""
    return number(value, -1, 1)


def or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def plain(value: object) -> bool:
    """A value of a setting."""
    most = sys.float_info.max
    return value is None or type(value) in (str, bool) or number(value, -most, most)


# --- lists and dictionaries; long lists are checked as a whole, for speed ---


def numbers(values: object, kinds: set[type], least: float, most: float) -> bool:
    """Whether a list holds only numbers of these types, in range."""
    if type(values) is not list or not set(map(type, values)) <= kinds:
        return False
    known = [value for value in values if value is not None] if type(None) in kinds else values
    return not known or least <= min(known) <= max(known) <= most


def square(values: Any, side: int, kinds: set[type], most: float) -> bool:
    """Whether values form a matrix [side, side] of such numbers."""
    rows = type(values) is list and len(values) == side
    if not rows or not all(type(row) is list and len(row) == side for row in values):
        return False
    return numbers(list(chain.from_iterable(values)), kinds, 0, most)


def accuracy(values: object) -> bool:
    return type(values) is list and len(values) > 0 and square(values, len(values), NUMBERS, 1)


def class_order(values: Any) -> bool:
    return numbers(values, {int}, 0, 2**31) and len(set(values)) == len(values) > 0


def class_names(values: object) -> bool:
    return type(values) is list and set(map(type, values)) == {str}


def curve(y: str, kinds: set[type], most: float) -> Check:
    """A check for values at steps."""

    def check(values: object) -> bool:
        return (
            type(values) is dict
            and numbers(values.get("steps"), {int}, 0, 2**53)
            and numbers(values.get(y), kinds, -most, most)
            and len(values["steps"]) == len(values[y])
        )

    return check


def entries(needed: Mapping[str, Check], known: Mapping[str, Check], other: Check) -> Check:
    """A check for a dictionary with the needed entries and valid known ones."""
    checks = {**known, **needed}

    def check(values: object) -> bool:
        return (
            type(values) is dict
            and needed.keys() <= values.keys()
            and all(checks.get(name, other)(value) for name, value in values.items())
        )

    return check


# --- the record ---

metrics = entries({name: share for name in ("AA", "AF", "AF_table")}, {}, or_none(number))
computed_with: Mapping[str, Check] = {"beta": number, "lambda": number, "buffer_batch": count}
"""settings that are an axis of a figure"""
seconds: Mapping[str, Check] = dict.fromkeys(
    ("train_s", "test_s", "total_s", "ms_per_step"), amount
)
how: Mapping[str, Check] = {
    "peak_MB": or_none(amount),
    "seeds_at_once": lambda value: count(value, 1),
    "compiled": lambda value: type(value) is bool,
}
machine: Mapping[str, Check] = {
    "device": text,
    "threads": lambda value: count(value, 1, MOST_THREADS),
}
kind_of_machine: Mapping[str, Check] = {"device_type": lambda value: value in ("cpu", "cuda")}

NEEDED: dict[str, Check] = {
    "method": text,
    "data": text,
    "memory": count,
    "seed": count,
    "settings": entries({}, computed_with, plain),
    "stream": text,
    "data_options": entries({}, {}, plain),
    "class_order": class_order,
    "accuracy": accuracy,
    "metrics": metrics,
    "also": lambda value: type(value) is dict,
    "log": lambda value: type(value) is list,
    "timing": entries(seconds, how, plain),
    "environment": entries(machine, kind_of_machine, or_none(text)),
    "commit": or_none(text),
}
"""fields of every record"""
LATER: dict[str, Check] = {
    "precision": lambda value: value in ("tf32", "bf16", "fp32"),
    "class_names": or_none(class_names),
    "parameters": or_none(count),
    "losses": or_none(curve("loss", NUMBERS_OR_NONE, LARGEST)),
    "anytime": or_none(curve("accuracy", NUMBERS, 1)),
    "refused_steps": count,
    "method_preset": or_none(entries({}, {}, plain)),
    **dict.fromkeys(
        ("data_sha256", "train_sha256", "method_title", "method_source"), or_none(text)
    ),
}
"""fields of some records"""


def faults(record: Mapping[str, Any]) -> Iterator[str]:
    """The invalid fields of a record, not counting missing ones."""
    for name, check in chain(NEEDED.items(), LATER.items()):
        if name in record and not check(record[name]):
            yield name


def misfits(record: Mapping[str, Any]) -> Iterator[str]:
    """The fields that are valid by themselves but inconsistent with others."""
    tasks, classes = len(record["accuracy"]), len(record["class_order"])
    counted = record.get("confusion")
    if not confusion(counted, tasks, classes):
        yield "confusion"
    if counted is not None and max(record["class_order"]) >= classes:
        yield "class_order"
    named = record.get("class_names")
    if named is not None and max(record["class_order"]) >= len(named):
        yield "class_names"
    for rule, found in record["also"].items():
        if not (
            type(found) is dict
            and accuracy(found.get("accuracy"))
            and len(found["accuracy"]) == tasks
            and metrics(found.get("metrics"))
            and confusion(found.get("confusion"), tasks, classes)
        ):
            yield f"also {rule}"
    of_task = entries({}, {}, or_none(number))
    if len(record["log"]) != tasks or not all(map(of_task, record["log"])):
        yield "log"


def confusion(values: Any, tasks: int, classes: int) -> bool:
    """Whether values are counts [tasks, classes, classes], or None because they were too large."""
    if values is None:
        return True
    if type(values) is not list or len(values) != tasks:
        return False
    return all(square(matrix, classes, {int}, 2**53) for matrix in values)

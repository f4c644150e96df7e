"""Measures of a confusion matrix: accuracy per task, precision, confusion of similar classes.

Counts [C, C]: rows are true classes, columns predictions (Wen 2026, confusion study). An undefined
measure (zero denominator, no partner) is NaN, and means skip it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Pairs = Sequence[tuple[int, int]]
Measure = Callable[[npt.ArrayLike, Pairs], Floats]
"""similar_confusion or similar_precision."""

EPSILON = 1e-12


def accuracy_by_task(confusion: npt.ArrayLike, task_of_class: npt.ArrayLike) -> Floats:
    """Accuracy on each task's test images [T]; 0 for a task without images."""
    counts = _counts(confusion)
    tasks = _tasks(task_of_class, len(counts))
    right = np.bincount(tasks, np.diag(counts))
    images = np.bincount(tasks, counts.sum(1))
    return np.divide(right, images, out=np.zeros_like(right), where=images > 0)


def in_original_ids(confusion: npt.ArrayLike, order: npt.ArrayLike) -> npt.NDArray[Any]:
    """The same counts under the dataset's class ids; order[i] is the id of the run's class i."""
    counts, ids = _counts(confusion), np.asarray(order)
    if ids.ndim != 1 or not np.array_equal(np.sort(ids), np.arange(len(counts))):
        raise ValueError(f"order is not a permutation of the {len(counts)} classes")
    position = np.argsort(ids)
    return counts[np.ix_(position, position)]


def row_normalised(confusion: npt.ArrayLike) -> Floats:
    """Probability of each prediction given the true class [C, C]; rows without images are 0."""
    counts: Floats = _counts(confusion).astype(np.float64)
    images: Floats = counts.sum(1, keepdims=True)
    return counts / (images + EPSILON)


def column_precision(confusion: npt.ArrayLike) -> Floats:
    """Precision of each class [C]."""
    counts = _counts(confusion)
    return _ratio(np.diag(counts), counts.sum(0))


def similar_confusion(confusion: npt.ArrayLike, pairs: Pairs) -> Floats:
    """SC@1: the share of each class's images classified as its partner [C]."""
    return _row_at_partner(row_normalised(confusion), pairs)


def similar_precision(confusion: npt.ArrayLike, pairs: Pairs) -> Floats:
    """P_sim: accuracy on the images classified as their own class or its partner [C]."""
    rows = row_normalised(confusion)
    right = np.diag(rows)
    return _ratio(right, right + _row_at_partner(rows, pairs))


def after_each_task(
    measure: Measure,
    confusions: Sequence[npt.ArrayLike],
    pairs: Pairs,
    task_of_class: npt.ArrayLike,
) -> Floats:
    """A measure after each task, averaged over the seen classes whose partner is seen too [T]."""
    classes = len(np.asarray(task_of_class))
    tasks, partner = _tasks(task_of_class, classes), partners(pairs, classes)
    pair_complete = np.where(partner < 0, len(confusions), np.maximum(tasks, tasks[partner]))
    curve = [
        _mean(measure(confusion, pairs)[pair_complete <= task])
        for task, confusion in enumerate(confusions)
    ]
    return np.array(curve)


def partners(pairs: Pairs, classes: int) -> Integers:
    """The partner of each class, both ways [C]; -1 for a class in no pair."""
    ids = [one for pair in pairs for one in pair]
    if len(set(ids)) < len(ids):
        raise ValueError(f"a class can be in one pair only: {list(pairs)}")
    if not set(ids) <= set(range(classes)):
        raise ValueError(f"pairs name a class outside 0..{classes - 1}: {list(pairs)}")
    partner = np.full(classes, -1, dtype=np.int64)
    for one, other in pairs:
        partner[one], partner[other] = other, one
    return partner


def _row_at_partner(rows: Floats, pairs: Pairs) -> Floats:
    partner = partners(pairs, len(rows))
    return np.where(partner < 0, np.nan, rows[np.arange(len(rows)), partner])


def _ratio(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    ratio = np.full(part.shape, np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def _counts(confusion: npt.ArrayLike) -> npt.NDArray[Any]:
    counts = np.asarray(confusion)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.size:
        raise ValueError(f"a confusion matrix is classes x classes, not {counts.shape}")
    if not np.all(counts >= 0):
        raise ValueError("a confusion matrix holds counts, so nothing below 0")
    return counts


def _tasks(task_of_class: npt.ArrayLike, classes: int) -> Integers:
    tasks = np.asarray(task_of_class, dtype=np.int64)
    if tasks.shape != (classes,) or not np.all(tasks >= 0):
        raise ValueError(f"each of the {classes} classes needs a task, counted from 0")
    return tasks

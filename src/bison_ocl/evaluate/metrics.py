"""Accuracy, forgetting and intransigence from an accuracy matrix (Wen 2026, metrics).

A[k, j] is the accuracy on task j after k + 1 tasks, a fraction; tasks not yet seen score 0. The
metrics after k tasks are those of the leading block A[:k, :k].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation (ddof = 1; None for one value) of n values."""

    mean: float
    std: float | None
    n: int


def average_accuracy(A: npt.ArrayLike) -> float:
    """Mean accuracy over all tasks at the end."""
    return float(_matrix(A)[-1].mean())


def accuracy_curve(A: npt.ArrayLike) -> Floats:
    """After each task, the mean accuracy over the tasks seen so far [T]."""
    matrix = _matrix(A)
    return np.array([matrix[k, : k + 1].mean() for k in range(len(matrix))])


def forgetting(A: npt.ArrayLike, mode: Literal["text", "table"]) -> float:
    """Forgetting: the drop of each task from its best accuracy, averaged.

    "text" is the paper's formula: tasks before the last, best before the end, may be negative.
    "table" is the definition behind its tables: all T tasks, best at any time, never negative.
    """
    matrix = _matrix(A)
    if mode == "table":
        return float((matrix.max(0) - matrix[-1]).mean())
    if mode != "text":
        raise ValueError(f"forgetting is by 'text' or 'table', not {mode!r}")
    if len(matrix) == 1:
        return 0.0
    before, end = matrix[:-1, :-1], matrix[-1, :-1]
    return float((before.max(0) - end).mean())


def intransigence(A: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Intransigence: accuracy lost on new tasks compared with fine-tuning; negative is better.

    reference: [T], the fine-tuned learner's accuracy on each task just after learning it.
    """
    return float(intransigence_by_task(A, reference).mean())


def intransigence_by_task(A: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The reference's accuracy right after each task minus this run's [T]."""
    learned = np.diag(_matrix(A))
    best = np.asarray(reference, dtype=np.float64)
    if best.shape != learned.shape:
        raise ValueError(f"reference is {best.shape}, but there are {len(learned)} tasks")
    _check_fractions(best)
    return best - learned


def spread(values: npt.ArrayLike) -> Spread:
    """Mean, sample standard deviation and count of a list of numbers."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not numbers.size:
        raise ValueError(f"a spread needs a non-empty list of numbers, not shape {numbers.shape}")
    n = len(numbers)
    return Spread(float(numbers.mean()), float(numbers.std(ddof=1)) if n > 1 else None, n)


def intransigence_std_over_tasks(
    matrices: Sequence[npt.ArrayLike], references: Sequence[npt.ArrayLike]
) -> float | None:
    """The deviation of AI in the paper's tables: that of the tasks' means over paired runs."""
    if len(matrices) != len(references) or not len(matrices):
        raise ValueError(f"{len(matrices)} runs cannot be paired with {len(references)} references")
    by_task = [intransigence_by_task(*pair) for pair in zip(matrices, references, strict=True)]
    if len({len(run) for run in by_task}) > 1:
        raise ValueError("the runs differ in their number of tasks")
    return spread(np.mean(by_task, axis=0)).std


def _matrix(A: npt.ArrayLike) -> Floats:
    matrix = np.asarray(A, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"an accuracy matrix is tasks x tasks, not {matrix.shape}")
    _check_fractions(matrix)
    return matrix


def _check_fractions(accuracies: Floats) -> None:
    if not np.all((accuracies >= 0) & (accuracies <= 1)):
        raise ValueError("accuracies are fractions between 0 and 1")

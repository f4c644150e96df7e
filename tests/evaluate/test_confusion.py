"""Confusion measures against hand-computed numbers and plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bison_ocl.evaluate.confusion import (
    Pairs,
    accuracy_by_task,
    after_each_task,
    column_precision,
    in_original_ids,
    partners,
    row_normalised,
    similar_confusion,
    similar_precision,
)

EXAMPLE = [[60, 30, 10], [20, 70, 10], [5, 15, 80]]
NAN = float("nan")

CIFAR_PAIRS = [(3, 5), (4, 7), (1, 9), (0, 8), (2, 6)]
CIFAR_ORDER = [3, 4, 5, 1, 7, 0, 9, 2, 8, 6]
CIFAR_TASKS = np.argsort(CIFAR_ORDER) // 2

Counts = npt.NDArray[np.int64]


@st.composite
def counts(draw: st.DrawFn, classes: int | None = None) -> Counts:
    """Random confusion matrices, with empty rows and columns now and then."""
    size = draw(st.integers(2, 8)) if classes is None else classes
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    used = generator.random((2, size)) < 0.8
    cells: Counts = generator.integers(0, 50, (size, size))
    return np.where(used[0][:, None] & used[1], cells, 0)


def test_a_worked_example() -> None:
    confused, precise = (f(EXAMPLE, [(0, 1)]) for f in (similar_confusion, similar_precision))
    assert confused == pytest.approx([0.3, 0.2, NAN], abs=1e-12, nan_ok=True)
    assert precise == pytest.approx([60 / 90, 70 / 90, NAN], abs=1e-12, nan_ok=True)
    assert precise[:2] == pytest.approx([0.666667, 0.777778], abs=5e-7)


@pytest.mark.parametrize(
    ("right", "given_class", "percent"),
    [
        (779, 1534, 50.8),
        (692, 1122, 61.7),
        (811, 2221, 36.5),
        (714, 1324, 53.9),
        (562, 1255, 44.8),
        (599, 1717, 34.9),
    ],
)
def test_the_papers_printed_precisions(right: int, given_class: int, percent: float) -> None:
    """Ship by ER and BISON, frog by ER and BISON, ship and frog by SS-IL."""
    confusion = [[right, 1000 - right], [given_class - right, 0]]
    assert round(100 * column_precision(confusion)[0], 1) == percent


@given(counts(), st.data())
def test_accuracy_by_task_matches_a_double_loop(confusion: Counts, data: st.DataObject) -> None:
    classes = len(confusion)
    tasks = data.draw(st.lists(st.integers(0, 3), min_size=classes, max_size=classes))
    expected = []
    for task in range(max(tasks) + 1):
        right = images = 0
        for true in range(classes):
            for predicted in range(classes):
                if tasks[true] == task:
                    images += confusion[true, predicted]
                    right += confusion[true, predicted] * (true == predicted)
        expected.append(right / images if images else 0.0)
    assert accuracy_by_task(confusion, tasks) == pytest.approx(expected)


def test_a_task_pools_its_images() -> None:
    unequal = [[1, 0, 0], [6, 3, 0], [0, 0, 0]]
    assert accuracy_by_task(unequal, [0, 0, 1]).tolist() == [0.4, 0.0]


@given(counts(), st.data())
def test_original_ids_match_a_double_loop(confusion: Counts, data: st.DataObject) -> None:
    classes = len(confusion)
    order = data.draw(st.permutations(range(classes)))
    expected = np.zeros_like(confusion)
    for i in range(classes):
        for j in range(classes):
            expected[order[i], order[j]] = confusion[i, j]
    moved = in_original_ids(confusion, order)
    assert np.array_equal(moved, expected)
    assert moved.dtype == confusion.dtype
    assert np.array_equal(in_original_ids(moved, np.argsort(order)), confusion)


@given(counts(), st.data())
def test_similar_measures_match_a_loop(confusion: Counts, data: st.DataObject) -> None:
    classes = len(confusion)
    ids = data.draw(st.permutations(range(classes)))
    pairs = list(zip(ids[0 : classes - 1 : 2], ids[1:classes:2], strict=True))
    confused, precise = naive(confusion, pairs)
    got = similar_confusion(confusion, pairs)
    assert got == pytest.approx(confused, abs=1e-9, nan_ok=True)
    got = similar_precision(confusion, pairs)
    assert got == pytest.approx(precise, abs=1e-9, nan_ok=True)


def naive(confusion: Counts, pairs: Pairs) -> tuple[list[float], list[float]]:
    """SC@1 and P_sim, class by class."""
    confused, precise = [NAN] * len(confusion), [NAN] * len(confusion)
    for one, other in [*pairs, *((b, a) for a, b in pairs)]:
        images = sum(int(n) for n in confusion[one])
        right, wrong = int(confusion[one, one]), int(confusion[one, other])
        confused[one] = wrong / images if images else 0.0
        if right + wrong:
            precise[one] = right / (right + wrong)
    return confused, precise


@given(counts())
def test_rows_become_probabilities_and_columns_precisions(confusion: Counts) -> None:
    rows, precision = row_normalised(confusion), column_precision(confusion)
    for c in range(len(confusion)):
        images, chosen = confusion[c].sum(), confusion[:, c].sum()
        assert rows[c] == pytest.approx(confusion[c] / max(images, 1), abs=1e-9)
        expected = confusion[c, c] / chosen if chosen else NAN
        assert precision[c] == pytest.approx(expected, nan_ok=True)


def test_averaged_counts_are_welcome() -> None:
    mean = (np.array(EXAMPLE) + np.transpose(EXAMPLE)) / 2
    assert similar_confusion(mean, [(0, 1)])[0] == pytest.approx(25 / 92.5)


@given(st.lists(counts(classes=10), min_size=5, max_size=5))
def test_the_curve_is_over_classes_whose_partner_is_seen(confusions: list[Counts]) -> None:
    complete = [set(), {3, 5}, {3, 5, 4, 7}, {3, 5, 4, 7, 1, 9}, set(range(10))]
    for measure in (similar_confusion, similar_precision):
        expected = []
        for seen, confusion in zip(complete, confusions, strict=True):
            values = [v for v in measure(confusion, CIFAR_PAIRS)[sorted(seen)] if not np.isnan(v)]
            expected.append(sum(values) / len(values) if values else NAN)
        curve = after_each_task(measure, confusions, CIFAR_PAIRS, CIFAR_TASKS)
        assert curve == pytest.approx(expected, nan_ok=True)


def test_the_curve_leaves_out_classes_in_no_pair() -> None:
    curve = after_each_task(similar_confusion, [EXAMPLE, EXAMPLE], [(0, 1)], [0, 1, 0])
    assert curve == pytest.approx([NAN, 0.25], nan_ok=True)


def test_partners_go_both_ways() -> None:
    assert partners([(0, 3), (2, 1)], 5).tolist() == [3, 2, 1, 0, -1]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 1), (1, 2)], "one pair only"),
        ([(1, 1)], "one pair only"),
        ([(0, 3)], r"outside 0\.\.2"),
        ([(-1, 0)], r"outside 0\.\.2"),
    ],
)
def test_impossible_pairs_are_refused(pairs: Pairs, message: str) -> None:
    for measure in (similar_confusion, similar_precision):
        with pytest.raises(ValueError, match=message):
            measure(EXAMPLE, pairs)


@pytest.mark.parametrize(
    ("confusion", "message"),
    [
        ([[1, 2]], "classes x classes"),
        ([1], "classes x classes"),
        (np.empty((0, 0)), "classes x classes"),
        ([[-1]], "below 0"),
        ([[NAN]], "below 0"),
    ],
)
def test_what_is_no_confusion_matrix_is_refused(confusion: Any, message: str) -> None:
    for measure in (row_normalised, column_precision):
        with pytest.raises(ValueError, match=message):
            measure(confusion)
    with pytest.raises(ValueError, match=message):
        accuracy_by_task(confusion, [0])


def test_classes_without_task_or_place_are_refused() -> None:
    for tasks in ([0, 1], [0, 0, -1]):
        with pytest.raises(ValueError, match="needs a task"):
            accuracy_by_task(EXAMPLE, tasks)
    for order in ([0, 1], [0, 1, 1], [1, 2, 3]):
        with pytest.raises(ValueError, match="permutation"):
            in_original_ids(EXAMPLE, order)

"""Accuracy, forgetting and intransigence against hand-computed numbers and plain loops."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bison_ocl.evaluate.metrics import (
    Floats,
    Spread,
    accuracy_curve,
    average_accuracy,
    forgetting,
    intransigence,
    intransigence_by_task,
    intransigence_std_over_tasks,
    spread,
)

EXAMPLE = [[0.8, 0, 0], [0.5, 0.7, 0], [0.3, 0.4, 0.9]]
REFERENCE = [0.85, 0.75, 0.8]


@st.composite
def accuracies(draw: st.DrawFn, tasks: int | None = None, runs: int | None = None) -> Floats:
    """Random accuracy matrices, 0 for tasks not yet seen."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, 7)) if tasks is None else tasks
    shape = (size, size) if runs is None else (runs, size, size)
    return np.tril(generator.integers(0, 101, shape) / 100)


def test_a_worked_example() -> None:
    assert average_accuracy(EXAMPLE) == pytest.approx(0.533333, abs=5e-7)
    assert forgetting(EXAMPLE, "text") == pytest.approx(0.4, abs=1e-12)
    assert forgetting(EXAMPLE, "table") == pytest.approx(0.266667, abs=5e-7)
    assert intransigence(EXAMPLE, REFERENCE) == pytest.approx(0, abs=1e-12)
    assert intransigence_by_task(EXAMPLE, REFERENCE) == pytest.approx([0.05, 0.05, -0.1])
    assert accuracy_curve(EXAMPLE) == pytest.approx([0.8, 0.6, 1.6 / 3])


@given(accuracies())
def test_accuracies_match_a_double_loop(A: Floats) -> None:
    tasks = len(A)
    curve = []
    for k in range(tasks):
        total = 0.0
        for j in range(k + 1):
            total += A[k, j]
        curve.append(total / (k + 1))
    assert accuracy_curve(A) == pytest.approx(curve)
    assert average_accuracy(A) == pytest.approx(curve[-1])


@given(accuracies())
def test_forgetting_matches_a_double_loop(A: Floats) -> None:
    last = len(A) - 1
    text = 0.0
    for j in range(last):
        text += max(A[i, j] - A[last, j] for i in range(j, last)) / last
    table = 0.0
    for j in range(last + 1):
        table += (max(A[i, j] for i in range(last + 1)) - A[last, j]) / (last + 1)
    assert forgetting(A, "text") == pytest.approx(text)
    assert forgetting(A, "table") == pytest.approx(table)


@given(accuracies(), st.data())
def test_intransigence_matches_a_loop(A: Floats, data: st.DataObject) -> None:
    other = data.draw(accuracies(tasks=len(A)))
    gaps = [other[j, j] - A[j, j] for j in range(len(A))]
    assert intransigence_by_task(A, np.diag(other)) == pytest.approx(gaps)
    assert intransigence(A, np.diag(other)) == pytest.approx(sum(gaps) / len(gaps))


@given(accuracies())
def test_fine_tuning_has_no_intransigence_at_all(A: Floats) -> None:
    assert intransigence(A, np.diag(A)) == 0.0


@given(accuracies())
def test_accuracy_after_learning_is_bounded_by_accuracy_and_forgetting(A: Floats) -> None:
    assert np.diag(A).mean() <= average_accuracy(A) + forgetting(A, "table") + 1e-12


@given(accuracies())
def test_the_two_forgettings_differ_by_a_factor_when_tasks_only_fall(A: Floats) -> None:
    falling = np.tril(np.minimum.accumulate(np.where(np.tril(np.ones_like(A)), A, 1.0), axis=0))
    tasks = len(A)
    expected = forgetting(falling, "text") * (tasks - 1) / tasks
    assert forgetting(falling, "table") == pytest.approx(expected)
    ends = average_accuracy(falling) + forgetting(falling, "table")
    assert np.diag(falling).mean() == pytest.approx(ends)


def test_text_forgetting_is_negative_when_an_old_task_improves_and_table_is_not() -> None:
    improving = [[0.5, 0], [0.7, 0.6]]
    assert forgetting(improving, "text") == pytest.approx(-0.2)
    assert forgetting(improving, "table") == 0.0


def test_one_task_forgets_nothing() -> None:
    assert forgetting([[0.9]], "text") == 0.0
    assert forgetting([[0.9]], "table") == 0.0
    assert average_accuracy([[0.9]]) == 0.9
    assert accuracy_curve([[0.9]]).tolist() == [0.9]


@pytest.mark.parametrize(
    ("accuracy", "forgotten", "learned", "tasks"),
    [(5.2, 41.4, 46.6, 10), (17.4, 68.6, 86.0, 5), (4.6, 35.4, 40.0, 10)],
)
def test_printed_fine_tuning_rows_add_up_to_the_accuracy_after_learning(
    accuracy: float, forgotten: float, learned: float, tasks: int
) -> None:
    """A learner that ends at the printed accuracy having learned every task equally well."""
    A = np.tril(np.full((tasks, tasks), learned / 100))
    A[-1, :-1] = (accuracy * tasks - learned) / (tasks - 1) / 100
    end, table = 100 * average_accuracy(A), 100 * forgetting(A, "table")
    assert end == pytest.approx(accuracy)
    assert table == pytest.approx(forgotten)
    assert end + table == pytest.approx(learned)


def test_spread_is_the_sample_deviation() -> None:
    assert spread([0.0, 3.0, 6.0]) == Spread(3.0, 3.0, 3)
    assert spread([0.25]) == Spread(0.25, None, 1)


@given(st.data(), st.integers(2, 5), st.integers(2, 5))
def test_intransigence_spreads_over_tasks(data: st.DataObject, runs: int, tasks: int) -> None:
    matrices = data.draw(accuracies(tasks=tasks, runs=runs))
    references = [np.diag(A) for A in data.draw(accuracies(tasks=tasks, runs=runs))]
    got = intransigence_std_over_tasks(list(matrices), references)
    by_task = [0.0] * tasks
    for run in range(runs):
        for task in range(tasks):
            gap = references[run][task] - matrices[run][task, task]
            by_task[task] += gap / runs
    assert got == pytest.approx(deviation(by_task), abs=1e-12)


def deviation(values: list[float]) -> float:
    """The sample standard deviation, spelled out."""
    middle = sum(values) / len(values)
    squares = sum((value - middle) ** 2 for value in values)
    return float((squares / (len(values) - 1)) ** 0.5)


def test_one_task_has_no_deviation() -> None:
    assert intransigence_std_over_tasks([[[0.5]]], [[0.75]]) is None


@pytest.mark.parametrize(
    ("A", "message"),
    [
        ([[0.5, 0.5]], "tasks x tasks"),
        ([0.5], "tasks x tasks"),
        (np.empty((0, 0)), "tasks x tasks"),
        ([[50.0]], "fractions"),
        ([[-0.1]], "fractions"),
        ([[float("nan")]], "fractions"),
    ],
)
def test_what_is_no_accuracy_matrix_is_refused(A: Any, message: str) -> None:
    for measure in (average_accuracy, accuracy_curve):
        with pytest.raises(ValueError, match=message):
            measure(A)
    with pytest.raises(ValueError, match=message):
        forgetting(A, "text")
    with pytest.raises(ValueError, match=message):
        intransigence(A, [0.5])


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="3 tasks"):
        intransigence(EXAMPLE, [0.5])
    with pytest.raises(ValueError, match="fractions"):
        intransigence([[0.5]], [50.0])
    with pytest.raises(ValueError, match="'text' or 'table'"):
        forgetting(EXAMPLE, cast(Any, "mean"))
    with pytest.raises(ValueError, match="non-empty"):
        spread([])
    with pytest.raises(ValueError, match="paired"):
        intransigence_std_over_tasks([EXAMPLE], [])
    with pytest.raises(ValueError, match="paired"):
        intransigence_std_over_tasks([], [])
    with pytest.raises(ValueError, match="number of tasks"):
        intransigence_std_over_tasks([EXAMPLE, [[0.5]]], [REFERENCE, [0.5]])


def test_metrics_need_no_torch() -> None:
    check = (
        "import sys, bison_ocl.evaluate.metrics, bison_ocl.evaluate.confusion; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", check], check=True)

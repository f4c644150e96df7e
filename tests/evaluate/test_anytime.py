"""A_AUC: the area under the accuracy curve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bison_ocl.evaluate.anytime import area_under_curve

fractions = st.lists(st.floats(0, 1), min_size=1, max_size=20)


@given(fractions, st.integers(1, 1000))
def test_equally_spaced_it_is_the_mean(values: list[float], every: int) -> None:
    """As the authors' code has it."""
    steps = [every * (i + 1) for i in range(len(values))]
    assert area_under_curve(steps, values) == pytest.approx(sum(values) / len(values))


def test_a_short_last_stretch_counts_less() -> None:
    assert area_under_curve([4, 8, 10], [0.5, 1.0, 0.0]) == pytest.approx((4 * 0.5 + 4) / 10)


@given(fractions)
def test_it_stays_between_the_worst_and_the_best(values: list[float]) -> None:
    steps = [(i + 1) ** 2 for i in range(len(values))]
    assert min(values) - 1e-9 <= area_under_curve(steps, values) <= max(values) + 1e-9


@pytest.mark.parametrize(
    ("steps", "values", "why"),
    [
        ([], [], "do not go with"),
        ([1, 2], [0.5], "do not go with"),
        ([0, 1], [0.5, 0.5], "must increase"),
        ([2, 2], [0.5, 0.5], "must increase"),
        ([1, 2], [0.5, 1.5], "fractions"),
        ([1], [float("nan")], "fractions"),
    ],
)
def test_nonsense_is_refused(steps: list[int], values: list[float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        area_under_curve(steps, values)

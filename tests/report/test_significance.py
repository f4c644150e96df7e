"""The paired test: against SciPy, against counting by hand, and as a test should behave."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bison_ocl.report.study.significance import holm, sign_flip


@pytest.mark.parametrize("n", [2, 5, 9])
def test_like_scipys_exact_permutation_test(n: int) -> None:
    random = np.random.default_rng(n)
    for shift in (0.0, 0.8):
        one, other = random.normal(size=n) + shift, random.normal(size=n)
        expected = stats.permutation_test(
            (one, other),
            lambda a, b: np.mean(a - b),
            permutation_type="samples",
            n_resamples=np.inf,
        )
        assert sign_flip(one, other) == pytest.approx(expected.pvalue)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=7))
@settings(max_examples=60)
def test_by_hand(differences: list[int]) -> None:
    seen = abs(sum(differences))
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    as_far = sum(value >= seen for value in sums)
    assert sign_flip(differences, np.zeros(len(differences))) == as_far / len(sums)


def test_ten_seeds_that_agree_give_the_least_p() -> None:
    assert sign_flip(np.arange(10) + 1.0, np.zeros(10)) == 2 / 2**10
    assert sign_flip(np.ones(5), np.zeros(5)) > 0.05
    assert sign_flip(np.ones(6), np.zeros(6)) < 0.05
    assert sign_flip([1.0, 2.0], [1.0, 2.0]) == 1


def test_the_order_of_methods_and_of_seeds_does_not_matter() -> None:
    one, other = np.random.default_rng(0).normal(size=(2, 8))
    assert sign_flip(one, other) == sign_flip(other, one) == sign_flip(one[::-1], other[::-1])


def test_many_pairs_are_drawn_and_come_out_alike() -> None:
    one, other = np.random.default_rng(3).normal(size=(2, 40))
    expected = stats.ttest_rel(one, other).pvalue
    assert sign_flip(one, other) == sign_flip(one, other)
    assert sign_flip(one, other) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("pairs", [([], []), (1.0, 2.0)])
def test_nothing_to_compare(pairs: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError, match="a test needs pairs"):
        sign_flip(*pairs)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_the_p_value_and_bonferroni(found: list[float]) -> None:
    for p, corrected in zip(found, holm(found), strict=True):
        assert p <= corrected <= min(1, len(found) * p) + 1e-12

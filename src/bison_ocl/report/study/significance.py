"""Paired test over common seeds: is one method better than another, or lucky?

Fisher 1935, The Design of Experiments, §21: under the null hypothesis the sign of each difference
is a coin's. Holm 1979 corrects for several comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

EXACT = 20
"""pairs up to which all 2ⁿ signs are tried"""
DRAWS = 100_000
"""signs tried beyond that"""


def sign_flip(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Two-sided p of the mean difference of pairs, exact up to 20 of them.

    The least it can be is 2 / 2ⁿ: with fewer than 6 pairs it never is below 0.05.
    """
    differences = np.asarray(one, np.float64) - np.asarray(other, np.float64)
    if differences.ndim != 1 or not differences.size:
        raise ValueError(f"a test needs pairs of numbers, not shape {differences.shape}")
    exact = len(differences) <= EXACT
    sums = all_sums(differences) if exact else drawn_sums(differences)
    slack = 1e-12 * np.abs(differences).sum()  # sums in another order differ in their last bits
    as_far = int(np.count_nonzero(np.abs(sums) >= abs(differences.sum()) - slack))
    return as_far / len(sums) if exact else (as_far + 1) / (len(sums) + 1)


def all_sums(differences: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The sum under every choice of signs [2ⁿ]."""
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums


def drawn_sums(differences: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The sum under random signs, the same ones on every call [DRAWS]."""
    random = np.random.default_rng(0)
    sums = np.zeros(DRAWS)
    for difference in differences:
        sums += difference * random.choice((-1.0, 1.0), DRAWS)
    return sums


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number, in the same order."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected

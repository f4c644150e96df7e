"""Expected calibration error against a naive loop over bins."""

from __future__ import annotations

import numpy as np
import pytest

from bison_ocl.evaluate.calibration import expected_calibration_error


def naive(confidence: list[float], right: list[bool], bins: int) -> float:
    total = 0.0
    for b in range(bins):
        last = b == bins - 1
        inside = [
            i for i, p in enumerate(confidence) if b / bins <= p and (p < (b + 1) / bins or last)
        ]
        if inside:
            accuracy = sum(right[i] for i in inside) / len(inside)
            mean = sum(confidence[i] for i in inside) / len(inside)
            total += len(inside) / len(confidence) * abs(accuracy - mean)
    return total


def test_it_is_the_weighted_distance_of_the_bins() -> None:
    chance = np.random.default_rng(0)
    p, right = chance.random(500), chance.random(500) < 0.4
    found = expected_calibration_error(p, right)
    assert found == pytest.approx(naive(p.tolist(), right.tolist(), 15))
    assert found > 0.05


def test_its_edges() -> None:
    assert expected_calibration_error([1.0, 1.0], [True, True]) == 0
    assert expected_calibration_error([1.0, 1.0], [False, False]) == 1
    assert expected_calibration_error([0.5, 0.5], [True, False]) == 0
    assert expected_calibration_error([], []) == 0

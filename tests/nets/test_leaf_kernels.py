"""Kernels over all leaves of stacked runs against PyTorch's operators, leaf by leaf."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.nets.kernels import Kernels
from tests.nets.plain import numbers

RUNS = 3
SIZES = [1, 5, 4100, 7, 64, *range(1, 70)]
"""more leaves than one launch takes, one of them longer than a turn of a program"""


def leaves(seed: int = 0) -> tuple[Tensor, ...]:
    return tuple(numbers(RUNS, n, seed=seed + i, dtype=torch.float32) for i, n in enumerate(SIZES))


def flags(value: int = 1) -> Tensor:
    return torch.full((RUNS,), value, dtype=torch.uint8)


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("leaf", [0, 2, len(SIZES) - 1])
def test_a_number_that_is_not_finite_is_found_in_its_run(
    kernels: Kernels, wrong: float, leaf: int
) -> None:
    values = leaves()
    assert kernels("leaf_kernels.checked", values, flags()).tolist() == [1, 1, 1]
    values[leaf][1, -1] = wrong
    assert kernels("leaf_kernels.checked", values, flags()).tolist() == [1, 0, 1]


def test_large_finite_numbers_are_finite(kernels: Kernels) -> None:
    largest = torch.full((RUNS, 10), torch.finfo(torch.float32).max)
    assert kernels("leaf_kernels.checked", (largest, -largest), flags()).tolist() == [1, 1, 1]


def test_refused_runs_are_as_before_and_others_as_made(kernels: Kernels) -> None:
    made, before = leaves(), leaves(seed=100)
    finite = torch.tensor([1, 0, 1], dtype=torch.uint8)
    words = [tuple(leaf.view(torch.int32) for leaf in side) for side in (made, before)]
    for found, new, old in zip(
        kernels("leaf_kernels.restored", *words, finite), made, before, strict=True
    ):
        expected = torch.stack([new[0], old[1], new[2]])
        assert torch.equal(found.view(torch.float32), expected)


def test_the_average_moves_towards_the_leaves(kernels: Kernels) -> None:
    values, weight = leaves(), torch.tensor([0.0, 0.3, 1.0])
    old = numbers(RUNS, sum(SIZES), seed=50, dtype=torch.float32)
    found = kernels("leaf_kernels.average", values, old, weight)
    torch.testing.assert_close(found, torch.lerp(old, torch.cat(values, 1), weight[:, None]))
    assert torch.equal(found[0], old[0])

"""How operators take runs: axes in front, in line, and what goes to a GPU's kernels."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from bison_ocl.nets.kernels.over_runs import (
    countable,
    in_line,
    runs_first,
    takes_kernels,
    total_type,
)
from tests.nets.plain import numbers

THREE = SimpleNamespace(batch_size=3)


def test_the_axis_of_runs_comes_first() -> None:
    x = numbers(2, 3, 4)
    found = runs_first(THREE, x, 1)
    assert torch.equal(found, x.movedim(1, 0))
    assert found.is_contiguous()


def test_what_runs_share_is_repeated() -> None:
    x = numbers(2, 4)
    found = runs_first(THREE, x, None)
    assert found.shape == (3, 2, 4)
    assert found.is_contiguous()
    assert all(torch.equal(run, x) for run in found)


def test_what_is_no_tensor_stays() -> None:
    assert runs_first(THREE, "ieee", None) == "ieee"
    assert runs_first(THREE, None, None) is None


def test_runs_in_line() -> None:
    assert in_line(numbers(4, 5), 2).shape == (1, 4, 5)
    assert in_line(numbers(3, 4, 5), 2).shape == (3, 4, 5)
    assert torch.equal(in_line(numbers(2, 3, 4, 5), 2), numbers(2, 3, 4, 5).flatten(0, 1))


def test_sums_are_kept_in_float32_at_least() -> None:
    types = [torch.bfloat16, torch.float32, torch.float64]
    assert [total_type(numbers(1, dtype=dtype)) for dtype in types] == [
        torch.float32,
        torch.float32,
        torch.float64,
    ]


def test_the_cpu_takes_no_kernels() -> None:
    assert not takes_kernels(numbers(1, dtype=torch.float32))


def test_more_than_kernels_can_count_is_refused() -> None:
    """4,756 images of 84x84 with 64 filters; how many runs there are does not matter."""
    countable(torch.empty(100, 4755, 84, 84, 64, device="meta"))
    with pytest.raises(ValueError, match="pass fewer images at once"):
        countable(torch.empty(1, 2), torch.empty(1, 4756, 84, 84, 64, device="meta"))

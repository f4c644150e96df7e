"""InfoNCE with labels: known numbers, naive loops, gradients, vmap."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from bison_ocl.methods.ocm.info_nce import info_nce, paired_info_nce

ROWS = torch.tensor([[1.0, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], dtype=torch.float64)
Y = torch.tensor([0, 1, 0, 1])
EPSILON = 1e-8


def sample(seed: int, items: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    s = 2 * torch.rand(2 * items, 2 * items, generator=generator, dtype=torch.float64) - 1
    return s, torch.randint(0, 3, (items,), generator=generator).repeat(2)


def naive(s: Tensor, y: Tensor, tau: float, paired: bool) -> float:
    """Row by row, column by column."""
    n = len(y)

    def length(i: int, j: int) -> float:
        top = max(s[i].tolist())
        e = [math.exp((s[i, k].item() - top) / tau) * (k != i or not paired) for k in range(n)]
        return -math.log(e[j] / (sum(e) + EPSILON) + EPSILON)

    by_class = 0.0
    for i in range(n):
        same = [j for j in range(n) if y[j] == y[i]]
        by_class += sum(length(i, j) for j in same) / len(same) / n
    if not paired:
        return by_class
    return sum(length(i, (i + n // 2) % n) for i in range(n)) / n + 2 * by_class


@pytest.mark.parametrize(("tau", "expected"), [(1.0, 20.735628), (0.07, 26.578676)])
def test_known_values_of_pairs(tau: float, expected: float) -> None:
    assert paired_info_nce(ROWS @ ROWS.T, Y, tau).item() == pytest.approx(expected, abs=6e-7)


def test_known_value_of_all_columns() -> None:
    assert info_nce(ROWS @ ROWS.T, Y, 1.0).item() == pytest.approx(1.3440378, abs=6e-7)


@pytest.mark.parametrize("tau", [1.0, 0.07])
@pytest.mark.parametrize("seed", range(3))
def test_equal_naive_loops(seed: int, tau: float) -> None:
    s, y = sample(seed)
    assert info_nce(s, y, tau).item() == pytest.approx(naive(s, y, tau, False), rel=1e-12)
    assert paired_info_nce(s, y, tau).item() == pytest.approx(naive(s, y, tau, True), rel=1e-12)


def test_a_row_itself_adds_a_constant_without_gradient() -> None:
    s, y = sample(0)
    s.requires_grad_()
    paired_info_nce(s, y, 0.07).backward()
    assert s.grad is not None
    assert (s.grad.diagonal() == 0).all()
    moved = (s + torch.diag(torch.full((len(y),), -0.3))).detach()
    torch.testing.assert_close(paired_info_nce(moved, y, 1.0), paired_info_nce(s, y, 1.0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_at_the_extremes(dtype: torch.dtype) -> None:
    """Similarities from −2 to 2 at τ = 0.07: exponents down to −57."""
    s = torch.full((6, 6), -2.0, dtype=dtype).fill_diagonal_(2).requires_grad_()
    loss = paired_info_nce(s, torch.arange(3).repeat(2), 0.07)
    loss = loss + info_nce(s, torch.arange(6), 0.07)
    loss.backward()
    assert loss.isfinite()
    assert s.grad is not None
    assert s.grad.isfinite().all()


def test_only_equality_of_labels_counts() -> None:
    s, y = sample(1)
    for loss in (info_nce, paired_info_nce):
        assert torch.equal(loss(s, y, 0.07), loss(s, 1000 * y + 7, 0.07))


def test_works_under_vmap() -> None:
    runs = [sample(seed) for seed in range(3)]
    for loss in (info_nce, paired_info_nce):
        stacked = [torch.stack(column) for column in zip(*runs, strict=True)]
        together = torch.func.vmap(lambda s, y, loss=loss: loss(s, y, 0.07))(*stacked)
        torch.testing.assert_close(together, torch.stack([loss(s, y, 0.07) for s, y in runs]))

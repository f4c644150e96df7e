"""Prototype equilibrium: a naive loop, few classes, absent ones, vmap."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from bison_ocl.methods.onpro.prototype_equilibrium import prototype_equilibrium, prototypes
from bison_ocl.nets.heads import unit


def sample(seed: int, items: int = 8, classes: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2 * items, 6, generator=generator, dtype=torch.float64)
    return unit(z), torch.randint(0, classes, (items,), generator=generator)


def naive(z: Tensor, y: Tensor, tau: float) -> float:
    """Prototype by prototype, over the classes there are."""
    known = sorted(set(y.tolist()))
    half = len(y)
    table = []
    for view in (z[:half], z[half:]):
        for c in known:
            mean = sum(view[i] for i in range(half) if y[i] == c)
            table.append(mean / mean.norm())
    n, total = len(table), 0.0
    for i in range(n):
        others = [math.exp((table[i] @ table[j]).item() / tau) for j in range(n) if j != i]
        positive = (table[i] @ table[(i + n // 2) % n]).item() / tau
        total += math.log(sum(others)) - positive
    return total / n


@pytest.mark.parametrize("classes", [4, 9])
@pytest.mark.parametrize("seed", range(3))
def test_equals_a_naive_loop(seed: int, classes: int) -> None:
    """Also with more rows than classes that are present."""
    z, y = sample(seed)
    loss = prototype_equilibrium(z, y, classes, 0.5)
    assert loss.item() == pytest.approx(naive(z, y, 0.5), rel=1e-12)


def test_one_class_has_nothing_to_learn() -> None:
    z, y = sample(0)
    z.requires_grad_()
    loss = prototype_equilibrium(z, torch.zeros_like(y), 4, 0.5)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-12)
    assert z.grad is not None
    assert z.grad.abs().max() < 1e-12


def test_gradients_are_finite_beside_absent_classes() -> None:
    z, y = sample(1, classes=2)
    z.requires_grad_()
    prototype_equilibrium(z, y, 50, 0.5).backward()
    assert z.grad is not None
    assert z.grad.isfinite().all()
    assert z.grad.any()


def test_prototypes_are_class_means_and_zero_rows() -> None:
    z = torch.tensor([[1.0, 0], [0, 1], [3, 4]])
    expected = [[0.5, 0.5], [0, 0], [3, 4]]
    assert prototypes(z, torch.tensor([0, 0, 2]), 3).tolist() == expected


def test_works_under_vmap() -> None:
    runs = [sample(seed) for seed in range(3)]
    stacked = [torch.stack(column) for column in zip(*runs, strict=True)]
    together = torch.func.vmap(lambda z, y: prototype_equilibrium(z, y, 4, 0.5))(*stacked)
    expected = torch.stack([prototype_equilibrium(z, y, 4, 0.5) for z, y in runs])
    torch.testing.assert_close(together, expected)

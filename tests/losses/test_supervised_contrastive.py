"""The supervised contrastive loss: known numbers, a naive loop, views without a positive."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from bison_ocl.losses.supervised_contrastive import supervised_contrastive
from bison_ocl.nets.heads import unit

V = torch.tensor([[1.0, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], dtype=torch.float64)
Y = torch.tensor([0, 1, 0, 1])


def naive(v: Tensor, y: Tensor, temperature: float) -> float:
    """The paper's formula, sum by sum."""
    total = 0.0
    for a in range(len(v)):
        others = [q for q in range(len(v)) if q != a]
        scores = {q: math.exp(v[a].dot(v[q]).item() / temperature) for q in others}
        positives = [p for p in others if y[p] == y[a]]
        for p in positives:
            total -= math.log(scores[p] / sum(scores.values())) / len(positives)
    return total / len(v)


@pytest.mark.parametrize(("temperature", "expected"), [(0.07, 4.0789988), (1.0, 1.1574738)])
def test_known_values(temperature: float, expected: float) -> None:
    loss = supervised_contrastive(V, Y, temperature)
    assert loss.item() == pytest.approx(expected, abs=5e-8)


def test_known_value_of_one_class() -> None:
    loss = supervised_contrastive(V, torch.zeros(4).long(), 1.0)
    assert loss.item() == pytest.approx(1.1308071, abs=5e-8)


@pytest.mark.parametrize("temperature", [0.07, 0.5])
def test_equals_a_naive_loop(temperature: float) -> None:
    generator = torch.Generator().manual_seed(0)
    v = unit(torch.randn(10, 5, generator=generator, dtype=torch.float64))
    y = torch.tensor([0, 1, 2, 0, 3, 0, 1, 2, 0, 3])
    loss = supervised_contrastive(v, y, temperature)
    assert loss.item() == pytest.approx(naive(v, y, temperature), abs=1e-12)


def test_a_view_without_a_positive_adds_nothing_but_is_a_negative() -> None:
    y = torch.tensor([0, 1, 0, 2])
    loss = supervised_contrastive(V, y, 1.0)
    assert loss.item() == pytest.approx(naive(V, y, 1.0), abs=1e-12)
    v = V.clone().requires_grad_()
    supervised_contrastive(v, torch.arange(4), 1.0).backward()
    assert v.grad is not None
    assert (v.grad == 0).all()


def test_gradients_are_right_and_finite_at_low_temperature() -> None:
    v = V.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: supervised_contrastive(v, Y, 0.5), (v,))
    low = V.float().requires_grad_()
    supervised_contrastive(low, Y, 0.001).backward()
    assert low.grad is not None
    assert low.grad.isfinite().all()


def test_works_under_vmap() -> None:
    labels = torch.stack([Y, torch.zeros(4).long(), torch.arange(4)])
    together = torch.func.vmap(supervised_contrastive, (None, 0, None))(V, labels, 0.1)
    alone = torch.stack([supervised_contrastive(V, y, 0.1) for y in labels])
    torch.testing.assert_close(together, alone)

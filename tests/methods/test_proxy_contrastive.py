"""The proxy-based contrastive loss: known numbers, a naive loop, one class alone."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from bison_ocl.methods.pcr import proxy_contrastive

W = torch.tensor([[1.0, 0], [0, 1], [1, 1]], dtype=torch.float64)
Z = torch.tensor([[1.0, 0], [0, 1], [1, 1]], dtype=torch.float64)
Y = torch.tensor([0, 1, 1])


def naive(z: Tensor, y: Tensor, w: Tensor, temperature: float) -> float:
    """Each feature against the proxy of every label of the batch, repeated labels repeated."""
    total = 0.0
    for i in range(len(z)):
        scores = [
            math.exp(torch.cosine_similarity(z[i], w[c], dim=0).item() / temperature) for c in y
        ]
        total -= math.log(scores[i] / sum(scores))
    return total / len(z)


@pytest.mark.parametrize(
    ("temperature", "expected"), [(0.07, 0.5972537), (0.09, 0.5972656), (1.0, 0.8373506)]
)
def test_known_values(temperature: float, expected: float) -> None:
    loss = proxy_contrastive(Z, Y, W, temperature)
    assert loss.item() == pytest.approx(expected, abs=5e-8)


@pytest.mark.parametrize("temperature", [0.07, 1.0])
def test_one_class_gives_the_log_of_the_batch_size_and_no_gradient(temperature: float) -> None:
    z, w = Z.clone().requires_grad_(), W.clone().requires_grad_()
    loss = proxy_contrastive(z, torch.ones(3).long(), w, temperature)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(3), abs=1e-12)
    assert z.grad is not None
    assert w.grad is not None
    assert z.grad.abs().max() < 1e-14
    assert w.grad.abs().max() < 1e-14


def test_equals_a_naive_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    z, w = (torch.randn(n, 4, generator=generator, dtype=torch.float64) for n in (12, 6))
    y = torch.randint(0, 5, (12,), generator=generator)
    loss = proxy_contrastive(z, y, w, 0.2)
    assert loss.item() == pytest.approx(naive(z, y, w, 0.2), abs=1e-12)


def test_an_absent_class_takes_no_part() -> None:
    z, w = Z.clone().requires_grad_(), W.clone().requires_grad_()
    loss = proxy_contrastive(z, Y, w, 0.5)
    loss.backward()
    assert w.grad is not None
    assert (w.grad[2] == 0).all()
    torch.testing.assert_close(proxy_contrastive(Z, Y, W[:2], 0.5), loss.detach())
    assert torch.autograd.gradcheck(lambda z, w: proxy_contrastive(z, Y, w, 0.5), (z, w))


def test_works_under_vmap() -> None:
    labels = torch.stack([Y, torch.ones(3).long(), torch.tensor([2, 0, 2])])
    together = torch.func.vmap(proxy_contrastive, (None, 0, None, None))(Z, labels, W, 0.1)
    alone = torch.stack([proxy_contrastive(Z, y, W, 0.1) for y in labels])
    torch.testing.assert_close(together, alone)

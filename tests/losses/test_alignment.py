"""Alignment of class vectors: known numbers, known gradients, the empty set."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bison_ocl.losses.interaction import alignment

W_STR = torch.tensor([[1.0, 0], [0, 1], [1, 1]], dtype=torch.float64)
W_BUF = torch.tensor([[1.0, 1], [-1, 2], [0, -3]], dtype=torch.float64)


def mask(*classes: int) -> Tensor:
    return torch.tensor([c in classes for c in range(3)])


@pytest.mark.parametrize(("classes", "expected"), [((0, 1), 0.1992330), ((0, 1, 2), 0.7018576)])
def test_known_values(classes: tuple[int, ...], expected: float) -> None:
    loss = alignment(W_BUF, W_STR, mask(*classes))
    assert loss.item() == pytest.approx(expected, abs=5e-8)


def test_known_gradient_reaches_the_taught_vectors_only() -> None:
    taught, teacher = W_BUF.clone().requires_grad_(), W_STR.clone().requires_grad_()
    alignment(taught, teacher, mask(0, 1)).backward()
    expected = [[-0.1767767, 0.1767767], [-0.0894427, -0.0447214], [0, 0]]
    torch.testing.assert_close(taught.grad, torch.tensor(expected).double(), rtol=0, atol=1e-7)
    assert teacher.grad is None


def test_equals_a_naive_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    w, target = (torch.randn(9, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    chosen = torch.arange(9) % 2 == 0
    cosines = [torch.cosine_similarity(w[c], target[c], dim=0) for c in range(0, 9, 2)]
    torch.testing.assert_close(alignment(w, target, chosen), 1 - sum(cosines) / 5)


def test_the_empty_set_gives_zero_and_no_gradient() -> None:
    taught = W_BUF.clone().requires_grad_()
    loss = alignment(taught, W_STR, mask())
    loss.backward()
    assert loss == 0
    assert (taught.grad == 0).all()


def test_equal_directions_are_aligned() -> None:
    assert alignment(3 * W_STR, W_STR, mask(0, 1, 2)).abs() < 1e-15
    assert alignment(-W_STR, W_STR, mask(1)) == 2


def test_works_under_vmap() -> None:
    masks = torch.stack([mask(0, 1), mask(), mask(2)])
    together = torch.func.vmap(alignment, in_dims=(None, None, 0))(W_BUF, W_STR, masks)
    alone = torch.stack([alignment(W_BUF, W_STR, one) for one in masks])
    torch.testing.assert_close(together, alone)

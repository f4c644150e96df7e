"""Cross-entropy of mixtures: a naive loop, plain images, classes left out."""

from __future__ import annotations

import math

import pytest
import torch

from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.methods.onpro.mixed_cross_entropy import mixed_cross_entropy

LOGITS = torch.tensor([[2.0, 1, 0, -1], [0.5, -3, 1, 4]], dtype=torch.float64)
FIRST, SECOND = torch.tensor([2, 0]), torch.tensor([0, 1])
SHARE = torch.tensor([0.25, 0.6], dtype=torch.float64)


@pytest.mark.parametrize("chosen", [(0, 1, 2, 3), (0, 1, 2)])
def test_equals_a_naive_loop(chosen: tuple[int, ...]) -> None:
    def ce(i: int, y: int) -> float:
        return math.log(sum(math.exp(LOGITS[i, c]) for c in chosen)) - LOGITS[i, y].item()

    expected = (0.75 * ce(0, 2) + 0.25 * ce(0, 0) + 0.4 * ce(1, 0) + 0.6 * ce(1, 1)) / 2
    mask = torch.tensor([c in chosen for c in range(4)])
    loss = mixed_cross_entropy(LOGITS, FIRST, SECOND, SHARE, mask)
    assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_without_mixing_it_is_cross_entropy() -> None:
    mask = torch.ones(4, dtype=torch.bool)
    loss = mixed_cross_entropy(LOGITS, FIRST, SECOND, torch.zeros(2), mask)
    torch.testing.assert_close(loss, cross_entropy(LOGITS, FIRST, mask))


def test_classes_left_out_get_no_gradient() -> None:
    logits = LOGITS.clone().requires_grad_()
    mask = torch.tensor([True, True, True, False])
    mixed_cross_entropy(logits, FIRST, SECOND, SHARE, mask).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert (logits.grad[:, 3] == 0).all()

"""Cross-entropy over a set of classes."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from bison_ocl.losses.cross_entropy import cross_entropy

LOGITS = torch.tensor([[2.0, 1, 0, -1]], dtype=torch.float64)


def mask(*classes: int) -> torch.Tensor:
    return torch.tensor([c in classes for c in range(4)])


@pytest.mark.parametrize(
    ("classes", "expected"), [((0, 1, 2, 3), 2.4401897), ((2, 3), 0.3132617), ((2,), 0.0)]
)
def test_known_values(classes: tuple[int, ...], expected: float) -> None:
    loss = cross_entropy(LOGITS, torch.tensor([2]), mask(*classes))
    assert loss.item() == pytest.approx(expected, abs=5e-8)


def test_all_classes_is_torchs_own() -> None:
    logits = torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.tensor([0, 1, 2, 3, 1, 1])
    assert torch.equal(cross_entropy(logits, y, mask(0, 1, 2, 3)), F.cross_entropy(logits, y))


def test_mean_over_the_batch_by_a_naive_loop() -> None:
    logits = torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    y, chosen = torch.tensor([0, 3, 3, 0, 2]), (0, 2, 3)
    total = 0.0
    for row, label in zip(logits.tolist(), y.tolist(), strict=True):
        total -= row[label] - math.log(sum(math.exp(row[c]) for c in chosen))
    assert cross_entropy(logits, y, mask(*chosen)).item() == pytest.approx(total / 5, abs=1e-12)


def test_classes_outside_the_set_get_no_gradient() -> None:
    logits = LOGITS.clone().requires_grad_()
    cross_entropy(logits, torch.tensor([2]), mask(1, 2)).backward()
    p = 1 / (1 + math.e)
    expected = torch.tensor([[0, 1 - p, p - 1, 0]], dtype=torch.float64)
    torch.testing.assert_close(logits.grad, expected)

"""The separated softmax: old labels among old classes, new ones among new."""

from __future__ import annotations

import math

import pytest
import torch

from bison_ocl.methods.ssil import separated_softmax

LOGITS = torch.tensor([[2.0, 1, 0, -1]], dtype=torch.float64)
PARTS = torch.tensor([-1, -1, 1, 1])


@pytest.mark.parametrize(("label", "expected"), [(2, 0.3132617), (1, 1.3132617)])
def test_known_values(label: int, expected: float) -> None:
    loss = separated_softmax(LOGITS, torch.tensor([label]), PARTS)
    assert loss.item() == pytest.approx(expected, abs=5e-8)


def test_equals_a_naive_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(6, 7, generator=generator, dtype=torch.float64)
    parts, y = torch.tensor([1, -1, 0, 1, -1, -1, 0]), torch.tensor([0, 3, 1, 4, 5, 3])
    total = 0.0
    for row, label in zip(logits.tolist(), y.tolist(), strict=True):
        rivals = [c for c in range(7) if parts[c] == parts[label]]
        total -= row[label] - math.log(sum(math.exp(row[c]) for c in rivals))
    assert separated_softmax(logits, y, parts).item() == pytest.approx(total / 6, abs=1e-12)


def test_parts_never_compete() -> None:
    logits = LOGITS.clone().requires_grad_()
    separated_softmax(logits, torch.tensor([2]), PARTS).backward()
    p = 1 / (1 + math.e)
    expected = torch.tensor([[0, 0, -p, p]], dtype=torch.float64)
    torch.testing.assert_close(logits.grad, expected)


def test_a_class_alone_in_its_part_costs_nothing() -> None:
    parts = torch.tensor([-1, -1, 1, 0])
    assert separated_softmax(LOGITS, torch.tensor([2]), parts) == 0


def test_works_under_vmap() -> None:
    parts = torch.tensor([[-1, -1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1]])
    y = torch.tensor([[0], [1], [3]])
    together = torch.func.vmap(separated_softmax, (None, 0, 0))(LOGITS, y, parts)
    alone = [separated_softmax(LOGITS, a, b) for a, b in zip(y, parts, strict=True)]
    torch.testing.assert_close(together, torch.stack(alone))

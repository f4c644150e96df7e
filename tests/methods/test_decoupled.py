"""Decoupled cross-entropy: known numbers, a naive loop, and that its parts add up."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.methods.lode import decoupled

LOGITS = torch.tensor([[2.0, 1, 0, -1]], dtype=torch.float64)
LABEL = torch.tensor([2])
OLD = torch.tensor([True, True, False, False])
ALL = torch.ones(4).bool()


def test_known_values() -> None:
    inter, intra = decoupled(LOGITS, LABEL, OLD, ALL)
    assert inter.item() == pytest.approx(2.1269280, abs=5e-8)
    assert intra.item() == pytest.approx(0.3132617, abs=5e-8)


@pytest.mark.parametrize(
    ("rho", "tasks", "expected"),
    [(0.1, 1, 0.5259545), (0.1, 4, 0.3664349), (0.5, 1, 1.3767257), (0.5, 9, 0.4314244)],
)
def test_known_weighted_sums(rho: float, tasks: int, expected: float) -> None:
    inter, intra = decoupled(LOGITS, LABEL, OLD, ALL)
    assert (rho / tasks * inter + intra).item() == pytest.approx(expected, abs=5e-8)


def batch() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(5, 4, generator=generator, dtype=torch.float64), torch.tensor(
        [2, 3, 2, 0, 1]
    )


@pytest.mark.parametrize("classes", [(0, 1, 2, 3), (0, 1, 2)])
def test_equals_a_naive_loop(classes: tuple[int, ...]) -> None:
    logits, y = batch()
    y = y.clamp(max=max(classes))
    inter = intra = 0.0
    for row, label in zip(logits.tolist(), y.tolist(), strict=True):
        everywhere = sum(math.exp(row[c]) for c in classes)
        side = sum(math.exp(row[c]) for c in classes if OLD[c] == OLD[label])
        inter += math.log(everywhere) - math.log(side)
        intra += math.log(side) - row[label]
    rows = torch.tensor([c in classes for c in range(4)])
    found = [part.item() for part in decoupled(logits, y, OLD, rows)]
    assert found == pytest.approx([inter / 5, intra / 5], abs=1e-12)


def test_the_parts_add_up_to_cross_entropy_for_old_labels_too() -> None:
    logits, y = batch()
    torch.testing.assert_close(sum(decoupled(logits, y, OLD, ALL)), F.cross_entropy(logits, y))


def test_without_old_classes_all_is_intra() -> None:
    logits, y = batch()
    inter, intra = decoupled(logits, y, ~ALL, ALL)
    assert inter == 0
    torch.testing.assert_close(intra, F.cross_entropy(logits, y))


def test_only_inter_reaches_the_other_side() -> None:
    for part, reaches in zip(range(2), (True, False), strict=True):
        logits = LOGITS.clone().requires_grad_()
        decoupled(logits, LABEL, OLD, ALL)[part].backward()
        assert logits.grad is not None
        assert bool((logits.grad[0, :2] != 0).all()) == reaches
        assert bool((logits.grad[0, :2] == 0).all()) == (not reaches)


def test_works_under_vmap() -> None:
    logits, y = batch()
    old = torch.stack([OLD, ~ALL, ~OLD])
    together = torch.func.vmap(decoupled, (None, None, 0, None))(logits, y, old, ALL)
    alone = torch.stack([torch.stack(decoupled(logits, y, one, ALL)) for one in old])
    torch.testing.assert_close(torch.stack(together, dim=1), alone)

"""Dual view consistency: known numbers, a naive loop, what a set of classes leaves out."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.methods.dvc import dual_view, negative_entropy

Z = torch.tensor([[[1.0, 0], [0, 2]], [[0, 1], [1, 1]]], dtype=torch.float64)
JOINT = torch.tensor([[2.0, 0], [0, 0]], dtype=torch.float64)
BOTH = torch.ones(2, dtype=torch.bool)


def random(batch: int, classes: int) -> tuple[Tensor, Tensor]:
    draw = torch.randn(
        3, batch, classes, dtype=torch.float64, generator=torch.Generator().manual_seed(classes)
    )
    return 2 * draw[:2], 2 * draw[2]


def naive(z: Tensor, joint: Tensor, information: float, agreement: float) -> float:
    """The paper's formula, sum by sum."""

    def softmax(row: Tensor) -> list[float]:
        powers = [math.exp(v) for v in row.tolist()]
        return [power / sum(powers) for power in powers]

    views, pair = [[softmax(row) for row in view] for view in z], [softmax(row) for row in joint]
    batch, classes = joint.shape
    entropy = 0.0
    for prediction in (*views, pair):
        for c in range(classes):
            mean = sum(prediction[i][c] for i in range(batch)) / batch
            entropy += mean * math.log(mean) / 3
    gaps = [abs(pair[i][c] - v[i][c]) for v in views for i in range(batch) for c in range(classes)]
    return information * entropy + agreement * sum(gaps) / len(gaps)


def test_known_values() -> None:
    ce = cross_entropy(Z.flatten(0, 1), torch.tensor([0, 1, 0, 1]), BOTH)
    assert ce.item() == pytest.approx(0.6116496, abs=5e-8)
    assert dual_view(Z, JOINT, BOTH, 1.0, 0.0).item() == pytest.approx(-0.6556286, abs=5e-8)
    assert dual_view(Z, JOINT, BOTH, 0.0, 1.0).item() == pytest.approx(0.2855978, abs=5e-8)
    assert dual_view(Z, JOINT, BOTH, 0.0, 4.0).item() == pytest.approx(1.1423912, abs=5e-8)


@pytest.mark.parametrize(("classes", "least"), [(10, -2.302585), (100, -4.605170)])
def test_uniform_predictions_have_the_least_information_term(classes: int, least: float) -> None:
    z = torch.zeros(2, 4, classes, dtype=torch.float64)
    every = torch.ones(classes, dtype=torch.bool)
    assert dual_view(z, z[0], every, 1.0, 2.0).item() == pytest.approx(least, abs=5e-7)
    assert dual_view(*random(4, classes), every, 1.0, 0.0) > least


@pytest.mark.parametrize(("batch", "classes"), [(1, 2), (5, 3), (10, 7)])
def test_equals_a_naive_loop(batch: int, classes: int) -> None:
    z, joint = random(batch, classes)
    every = torch.ones(classes, dtype=torch.bool)
    found = dual_view(z, joint, every, 0.7, 3.0).item()
    assert found == pytest.approx(naive(z, joint, 0.7, 3.0), rel=1e-12)


def test_classes_outside_the_set_neither_count_nor_learn() -> None:
    z, joint = random(5, 6)
    some = torch.tensor([True, False, True, True, False, True])
    z.requires_grad_()
    joint.requires_grad_()
    loss = dual_view(z, joint, some, 1.0, 2.0)
    torch.testing.assert_close(
        loss, dual_view(z[..., some], joint[..., some], some[some], 1.0, 2.0)
    )
    for grad in torch.autograd.grad(loss, (z, joint)):
        assert grad.isfinite().all()
        assert not grad[..., ~some].any()
        assert grad[..., some].any()


def test_gradients_are_right() -> None:
    z, joint = random(4, 3)
    every = torch.ones(3, dtype=torch.bool)
    inputs = (z.requires_grad_(), joint.requires_grad_())
    assert torch.autograd.gradcheck(lambda z, q: dual_view(z, q, every, 1.0, 2.0), inputs)


def test_a_class_of_no_probability_has_no_nan() -> None:
    p = torch.tensor([[1.0, 0.0]], dtype=torch.float64, requires_grad=True)
    value = negative_entropy(p, BOTH)
    value.sum().backward()
    assert value.item() == pytest.approx(0, abs=1e-13)
    assert p.grad is not None
    assert p.grad.isfinite().all()


def test_works_under_vmap() -> None:
    pairs = [random(4, classes=3) for _ in range(2)]
    z, joint = (torch.stack(parts) for parts in zip(*pairs, strict=True))
    every = torch.ones(3, dtype=torch.bool)
    together = torch.func.vmap(lambda z, q: dual_view(z, q, every, 1.0, 2.0))(z, joint)
    alone = torch.stack([dual_view(*pair, every, 1.0, 2.0) for pair in pairs])
    torch.testing.assert_close(together, alone)

"""Proxy-anchor loss: known numbers, a naive loop, and pytorch-metric-learning."""

from __future__ import annotations

import math

import pytest
import torch
from pytorch_metric_learning.losses import ProxyAnchorLoss
from torch import Tensor

from bison_ocl.losses.interaction import log_one_plus_sum, proxy_anchor

GAMMA, DELTA = 32.0, 0.1
Z_M, Y_M = [[0.0, 2], [-1, 1]], [1, 0]
W_STR = [[1.0, 0], [0, 1], [1, 1]]


def loss_of(z: object, y: object, w: object, classes: object = None) -> Tensor:
    z, w = (torch.as_tensor(v, dtype=torch.float64) for v in (z, w))
    y = torch.as_tensor(y)
    chosen = torch.ones(len(w), dtype=torch.bool) if classes is None else torch.as_tensor(classes)
    return proxy_anchor(z, y, w, GAMMA, DELTA, chosen)


def naive(z: Tensor, y: Tensor, w: Tensor, classes: list[int]) -> tuple[float, float]:
    """The two terms by loops over classes and samples."""

    def cos(i: int, c: int) -> float:
        return (z[i] @ w[c] / z[i].norm() / w[c].norm()).item()

    present = sorted(set(y.tolist()))
    pull = push = 0.0
    for c in present:
        own = [i for i in range(len(y)) if y[i] == c]
        pull += math.log(1 + sum(math.exp(-GAMMA * (cos(i, c) - DELTA)) for i in own))
    for c in classes:
        others = [i for i in range(len(y)) if y[i] != c]
        push += math.log(1 + sum(math.exp(GAMMA * (cos(i, c) + DELTA)) for i in others))
    return pull / len(present), push / len(classes)


def sample(seed: int, n: int = 20, classes: int = 7, width: int = 5) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(n, width, generator=generator, dtype=torch.float64)
    w = torch.randn(classes, width, generator=generator, dtype=torch.float64)
    return z, torch.randint(0, classes - 2, (n,), generator=generator), w


@pytest.mark.parametrize(
    ("z", "y", "w", "expected"),
    [
        ([[1, 0], [0, 1]], [0, 1], [[1, 0], [0, 1], [-1, 0]], 3.2399533),
        (Z_M, Y_M, W_STR, 31.211971),
        (Z_M * 2, Y_M * 2, W_STR, 32.245099),
        (Z_M, Y_M, [*W_STR, [1, -1]], 26.637405),
    ],
)
def test_known_values(z: list, y: list, w: list, expected: float) -> None:
    assert loss_of(z, y, w).item() == pytest.approx(expected, abs=1e-6)


def test_known_terms() -> None:
    z, w = torch.tensor(Z_M).double(), torch.tensor(W_STR).double()
    assert naive(z, torch.tensor(Y_M), w, [0, 1, 2]) == pytest.approx((12.913708, 18.298262))
    z = torch.eye(2, dtype=torch.float64)
    w = torch.tensor([[1.0, 0], [0, 1], [-1, 0]]).double()
    pull, _ = naive(z, torch.tensor([0, 1]), w, [0, 1, 2])
    assert pull == pytest.approx(3.106e-13, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_equals_a_naive_loop(seed: int) -> None:
    z, y, w = sample(seed)
    assert loss_of(z, y, w).item() == pytest.approx(sum(naive(z, y, w, list(range(7)))), rel=1e-12)


def test_only_chosen_rows_push_and_count() -> None:
    z, y, w = sample(3)
    chosen = torch.tensor([True, True, True, True, True, False, False])
    expected = sum(naive(z, y, w, [0, 1, 2, 3, 4]))
    assert loss_of(z, y, w, chosen).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_equals_pytorch_metric_learning_with_gradients(seed: int) -> None:
    z, y, w = sample(seed)
    oracle = ProxyAnchorLoss(num_classes=7, embedding_size=5, margin=DELTA, alpha=GAMMA).double()
    oracle.proxies.data.copy_(w)
    theirs = z.clone().requires_grad_()
    expected = oracle(theirs, y)
    expected.backward()
    z, w = z.requires_grad_(), w.requires_grad_()
    loss = loss_of(z, y, w)
    loss.backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(z.grad, theirs.grad)
    torch.testing.assert_close(w.grad, oracle.proxies.grad)


def test_lengths_do_not_matter() -> None:
    z, y, w = sample(4)
    lengths = torch.linspace(0.1, 9, len(z), dtype=torch.float64)[:, None]
    longer = loss_of(z * lengths, y, w * lengths[: len(w)])
    torch.testing.assert_close(longer, loss_of(z, y, w))


@pytest.mark.parametrize("y", [[0] * 6, [0, 0, 0, 1, 1, 1]])
def test_gradients_are_finite_when_classes_are_absent(y: list[int]) -> None:
    z, _, w = sample(5, n=6, classes=3)
    z, w = z.requires_grad_(), w.requires_grad_()
    loss_of(z, y, w).backward()
    assert z.grad.isfinite().all()
    assert w.grad.isfinite().all()


def test_the_proxy_of_the_only_class_pushes_nothing() -> None:
    z, _, w = sample(6, n=4, classes=3)
    w = w.requires_grad_()
    loss_of(z, [0] * 4, w, [True, False, False]).backward()
    alone = w.grad.clone()
    assert (alone[1:] == 0).all()
    assert (alone[0] != 0).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_largest_exponents_stay_finite(dtype: torch.dtype) -> None:
    """Opposite to the own proxy and equal to the other one: exponents of ±32·1.1."""
    z = torch.tensor([[1.0, 0]] * 20, dtype=dtype, requires_grad=True)
    w = torch.tensor([[-1.0, 0], [1, 0]], dtype=dtype, requires_grad=True)
    y = torch.zeros(20, dtype=torch.int64)
    loss = proxy_anchor(z, y, w, GAMMA, DELTA, torch.ones(2, dtype=torch.bool))
    loss.backward()
    assert loss.item() == pytest.approx(1.5 * (35.2 + math.log(20)), rel=1e-6)
    assert z.grad.isfinite().all()
    assert w.grad.isfinite().all()


def test_log_one_plus_sum_of_nothing_is_zero() -> None:
    exponents = torch.tensor([[500.0, 0], [-500, 0]], dtype=torch.float64)
    chosen = torch.tensor([[True, False], [True, False]])
    assert log_one_plus_sum(exponents, chosen).tolist() == [500, 0]


def test_works_under_vmap() -> None:
    runs = [sample(seed) for seed in range(3)]
    chosen = torch.ones(7, dtype=torch.bool)

    def one(z: Tensor, y: Tensor, w: Tensor) -> Tensor:
        return proxy_anchor(z, y, w, GAMMA, DELTA, chosen)

    together = torch.func.vmap(one)(*(torch.stack(c) for c in zip(*runs, strict=True)))
    torch.testing.assert_close(together, torch.stack([one(*run) for run in runs]))

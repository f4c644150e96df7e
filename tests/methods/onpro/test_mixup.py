"""Mixup: images by a loop, labels of mixtures, the Beta distribution."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.methods.onpro.mixup import Mixed, beta, mixup
from bison_ocl.rng import Key, key_of


def batch(y: list[int], seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    return Batch(torch.rand(len(y), 3, 2, 2, generator=generator).double(), torch.tensor(y))


SHARE = torch.tensor([0.0, 0.25, 0.6], dtype=torch.float64)


def example() -> Mixed:
    return mixup(batch([1, 1, 2]), batch([0, 2, 2], seed=1), SHARE)


def test_equals_a_loop_over_images() -> None:
    mixed, one, other = example(), batch([1, 1, 2]).x, batch([0, 2, 2], seed=1).x
    for i, share in enumerate(SHARE.tolist()):
        expected = (1 - share) * one[i] + share * other[i]
        torch.testing.assert_close(mixed.x[i], expected, rtol=1e-15, atol=1e-15)
    assert torch.equal(mixed.x[0], one[0])
    assert [v.tolist() for v in mixed.targets] == [[1, 1, 2], [0, 2, 2], SHARE.tolist()]


def test_a_mixture_of_two_classes_has_a_label_of_its_own() -> None:
    """The first is plain, the third mixes a class with itself: only the second is new."""
    assert example().labels(10).tolist() == [1, 11, 2]


def test_concatenation_and_choice() -> None:
    mixed = example()
    assert (mixed + mixed).first.tolist() == [1, 1, 2, 1, 1, 2]
    assert (mixed + mixed).labels(10).tolist() == [1, 11, 2, 1, 14, 2]
    plain = mixup(batch([3, 4, 5]), batch([3, 4, 5]), torch.zeros(3).double())
    assert torch.equal(tree.choose(torch.tensor(True), mixed, plain).x, mixed.x)
    assert tree.choose(torch.tensor(False), mixed, plain).labels(10).tolist() == [3, 4, 5]
    assert torch.equal(plain.x, batch([3, 4, 5]).x)


@pytest.mark.parametrize("alpha", [0.4, 1.0])
def test_beta_has_its_distribution(alpha: float) -> None:
    drawn = beta(key_of(0, 0, "beta"), 20_000, alpha, torch.float64)
    assert stats.kstest(drawn.numpy(), stats.beta(alpha, alpha).cdf).pvalue > 0.01


def test_beta_lies_between_0_and_1_in_every_dtype() -> None:
    for dtype in (torch.float32, torch.float64):
        drawn = beta(key_of(0, 0, "beta"), 10_000, 0.4, dtype)
        assert drawn.dtype == dtype
        assert drawn.isfinite().all()
        assert ((drawn >= 0) & (drawn <= 1)).all()


def test_works_under_vmap() -> None:
    def one(bits: Tensor) -> Tensor:
        return beta(Key(bits), 5, 0.4, torch.float64)

    bits = torch.stack([key_of(seed, 0, "beta").bits for seed in (0, 1)])
    expected = torch.stack([one(bits[0]), one(bits[1])])
    torch.testing.assert_close(torch.func.vmap(one)(bits), expected, rtol=1e-14, atol=0)

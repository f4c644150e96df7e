"""Similarity of projections and slices of features: a naive loop, the range of the slice, vmap."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bison_ocl.methods.ocm import similarity as module
from bison_ocl.methods.ocm.similarity import random_similarity, similarity
from bison_ocl.rng import key_of


def sample(seed: int = 0, width: int = 3, features: int = 8) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    u = torch.randn(5, width, generator=generator, dtype=torch.float64)
    return u, torch.rand(5, features, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("first", [0, 2, 5])
def test_equals_a_naive_loop(first: int) -> None:
    u, z = sample()
    found = similarity(u, z, torch.tensor(first))
    for i in range(5):
        for j in range(5):
            v, w = u[i] / u[i].norm(), u[j] / u[j].norm()
            phi = (z[j] / z[j].norm())[first : first + 3]
            assert found[i, j].item() == pytest.approx((v @ phi + v @ w).item(), rel=1e-12)


def test_gradients_reach_projections_and_features() -> None:
    u, z = (value.requires_grad_() for value in sample())
    similarity(u, z, torch.tensor(2)).square().sum().backward()
    assert u.grad is not None
    assert z.grad is not None
    assert (u.grad != 0).all()
    assert (z.grad != 0).all()  # through the length, columns outside the slice too


@pytest.mark.parametrize(("features", "width", "starts"), [(160, 128, 32), (8, 5, 3), (5, 5, 1)])
def test_the_slice_begins_anywhere(
    features: int, width: int, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    u, z = sample(width=width, features=features)
    monkeypatch.setattr(module, "similarity", lambda u, z, first: first)
    found = {int(random_similarity(key_of(0, step, "slice"), u, z)) for step in range(500)}
    assert found == set(range(starts))


def test_works_under_vmap() -> None:
    runs = [(*sample(seed), torch.tensor(seed)) for seed in range(3)]
    together = torch.func.vmap(similarity)(*(torch.stack(c) for c in zip(*runs, strict=True)))
    torch.testing.assert_close(together, torch.stack([similarity(*run) for run in runs]))

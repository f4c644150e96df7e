"""Squared distance of logits over a set of classes."""

from __future__ import annotations

import pytest
import torch

from bison_ocl.methods.ocm.ocm import squared_error


def test_equals_the_mean_over_chosen_columns() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 5, 4, generator=generator, dtype=torch.float64)
    chosen = torch.tensor([True, False, True, False])
    expected = sum((a[i, c] - b[i, c]).item() ** 2 for i in range(5) for c in (0, 2)) / 10
    assert squared_error(a, b, chosen).item() == pytest.approx(expected, rel=1e-12)
    everything = torch.ones(4, dtype=torch.bool)
    torch.testing.assert_close(squared_error(a, b, everything), torch.nn.functional.mse_loss(a, b))


def test_the_empty_set_gives_zero_and_no_gradient() -> None:
    a = torch.ones(3, 2, requires_grad=True)
    loss = squared_error(a, torch.zeros(3, 2), torch.zeros(2, dtype=torch.bool))
    loss.backward()
    assert loss.item() == 0
    assert a.grad is not None
    assert not a.grad.any()

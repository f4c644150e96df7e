"""Distance to stored logits: known numbers, and logits that were never there."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from bison_ocl.losses.dark_experience import dark_experience

LOGITS = torch.tensor([[2.0, 1, 0, -1]], dtype=torch.float64)
ALL = torch.ones(1, 4).bool()


def test_known_value() -> None:
    assert dark_experience(LOGITS, torch.zeros_like(LOGITS), ALL) == 1.5


def test_all_known_is_the_mean_squared_error() -> None:
    generator = torch.Generator().manual_seed(0)
    one, other = (torch.randn(5, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    found = dark_experience(one, other, ALL.expand(5, 4))
    torch.testing.assert_close(found, F.mse_loss(one, other))


def test_unknown_logits_do_not_count() -> None:
    logits = LOGITS.expand(2, 4).clone().requires_grad_()
    known = torch.tensor([[True, True, False, False], [True, False, False, True]])
    loss = dark_experience(logits, torch.zeros(2, 4).double(), known)
    loss.backward()
    assert loss == (4 + 1 + 4 + 1) / 4
    expected = 2 * LOGITS * known / 4
    torch.testing.assert_close(logits.grad, expected)


def test_nothing_known_gives_zero() -> None:
    assert dark_experience(LOGITS, torch.zeros_like(LOGITS), ~ALL) == 0

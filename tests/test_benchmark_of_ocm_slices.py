"""The squared error by position is that of code which slices logits in the dataset's order."""

from __future__ import annotations

import torch
from benchmarks.ocm_slices import sliced


def test_the_first_logits_by_the_datasets_numbers_are_held() -> None:
    torch.manual_seed(0)
    order, old = torch.tensor([2, 0, 3, 1]), torch.tensor([True, True, False, False])
    now, before = torch.randn(5, 4), torch.randn(5, 4)
    as_numbered = order.argsort()  # the run's class of each number of the dataset
    first = (now[:, as_numbered] - before[:, as_numbered])[:, :2]
    torch.testing.assert_close(sliced(order)(now, before, old), first.square().mean())


def test_classes_in_the_order_of_their_numbers_are_held_as_a_set() -> None:
    order, old = torch.arange(4), torch.tensor([True, True, False, False])
    now, before = torch.eye(4), torch.zeros(4, 4)
    torch.testing.assert_close(sliced(order)(now, before, old), torch.tensor(2 / 8))

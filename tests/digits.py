"""The digits made small, for tests of what surrounds training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.data.sources import digits

OF_EACH = 10
"""images of each digit, where there are few"""


def use(patch: pytest.MonkeyPatch, change: Callable[[Dataset], Dataset]) -> None:
    """Let split-digits be something smaller, in this process."""
    patch.setattr(digits, "load", lambda load=digits.load: change(load()))


def shrunk(data: Dataset) -> Dataset:
    """The digits at their own 8x8, not enlarged."""
    train, test = (Batch(part.x[:, :, ::4, ::4], part.y) for part in (data.train, data.test))
    sums = {"test_sha256": "a" * 64, "train_sha256": "b" * 64}
    return replace(data, train=train, test=test, **sums)


def few(data: Dataset) -> Dataset:
    """Ten images of each digit, at 8x8."""
    small = shrunk(data)
    return replace(small, train=first(small.train), test=first(small.test))


def first(part: Batch) -> Batch:
    kept = torch.cat([(part.y == digit).nonzero()[:OF_EACH, 0] for digit in range(10)])
    return part[kept]

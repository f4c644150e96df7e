"""Training images held out for validation: which, how many, and that none is a test image."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from bison_ocl.batch import Batch
from bison_ocl.data import load
from bison_ocl.data.dataset import Dataset
from bison_ocl.data.validation import held_out
from bison_ocl.errors import UserError


def rows(batch: Batch) -> list[tuple[int, ...]]:
    pairs = zip(batch.x.flatten(1).tolist(), batch.y.tolist(), strict=True)
    return sorted((label, *x) for x, label in pairs)


def made(sizes: list[int]) -> Dataset:
    """Classes of these sizes; every image is different."""
    y = torch.cat([torch.full((size,), label) for label, size in enumerate(sizes)])
    x = torch.arange(len(y), dtype=torch.uint8).reshape(-1, 1, 1, 1).expand(-1, 3, 8, 8)
    names = tuple(f"c{label}" for label in range(len(sizes)))
    test = Batch(torch.full((2, 3, 8, 8), 255, dtype=torch.uint8), torch.tensor([0, 1]))
    return Dataset("made", Batch(x, y), test, len(sizes), 2, names, "c" * 64, "d" * 64)


def test_every_class_gives_its_share_and_every_image_is_used_once() -> None:
    whole = load("split-digits")
    found = load("split-digits", validate=0.1)
    assert torch.bincount(found.test.y).tolist() == [14] * 10
    assert rows(found.train) + rows(found.test) != []
    assert sorted(rows(found.train) + rows(found.test)) == rows(whole.train)
    assert held_out(whole, 0.1).test.x.equal(found.test.x)  # not a matter of chance


def test_small_classes_keep_and_give_at_least_one_image() -> None:
    found = held_out(made([2, 3, 40]), 0.1)
    assert torch.bincount(found.test.y).tolist() == [1, 1, 4]
    assert torch.bincount(held_out(made([2, 3, 40]), 0.99).train.y).tolist() == [1, 1, 1]
    assert 255 not in found.test.x


def test_each_class_draws_the_images_that_it_gives() -> None:
    found = held_out(made([40, 40]), 0.25).test
    first, second = (set((found.x[found.y == i, 0, 0, 0] - 40 * i).tolist()) for i in (0, 1))
    assert len({frozenset(places) for places in (first, second, range(10))}) == 3


def test_both_checksums_are_of_the_training_images_alone() -> None:
    whole = made([4, 4])
    sums = [
        (found.train_sha256, found.test_sha256)
        for changed in ({}, {"test_sha256": "e" * 64}, {"train_sha256": "e" * 64})
        for found in (held_out(replace(whole, **changed), 0.25),)
    ]
    assert sums[0] == sums[1]
    assert not set(sums[0]) & set(sums[2])


def test_another_share_has_other_checksums_and_no_checksum_stays_none() -> None:
    whole = made([4, 4])
    one, other = held_out(whole, 0.25), held_out(whole, 0.5)
    sums = {d.test_sha256 for d in (whole, one, other)} | {d.train_sha256 for d in (one, other)}
    assert len(sums) == 5
    assert held_out(replace(whole, train_sha256=""), 0.25).test_sha256 == ""


@pytest.mark.parametrize("share", [0, 1, -0.1, 10, float("nan")])
def test_other_shares_are_refused(share: float) -> None:
    with pytest.raises(UserError, match="expected a number between 0 and 1"):
        load("split-digits", validate=share)


def test_a_class_with_a_single_image_is_refused() -> None:
    with pytest.raises(UserError, match="class 'c1' of made has a single image"):
        held_out(made([4, 1]), 0.5)

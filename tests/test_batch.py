"""Batches index, split and concatenate; bytes become floats; label sets are masks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bison_ocl.batch import Batch, one_hot, present, to_float

BATCH = Batch(torch.arange(4 * 3 * 2 * 2, dtype=torch.uint8).reshape(4, 3, 2, 2), torch.arange(4))


def test_length_is_the_number_of_labels() -> None:
    assert len(BATCH) == 4


def test_images_and_labels_are_indexed_together() -> None:
    for index in (slice(1, 3), torch.tensor([3, 0]), BATCH.y > 1):
        part = BATCH[index]
        assert torch.equal(part.x, BATCH.x[index])
        assert torch.equal(part.y, BATCH.y[index])


def test_batches_concatenate_in_order() -> None:
    both = BATCH[2:] + BATCH[:1]
    assert both.y.tolist() == [2, 3, 0]
    assert torch.equal(both.x[2], BATCH.x[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bytes_become_numbers_in_the_unit_interval(dtype: torch.dtype) -> None:
    levels = torch.arange(256, dtype=torch.uint8)
    x = to_float(levels, dtype)
    assert x.dtype == dtype
    assert (x[0], x[255]) == (0, 1)
    assert torch.equal((x * 255).round().to(torch.uint8), levels)
    assert x[51] == torch.tensor(0.2, dtype=dtype)


def test_floats_stay_as_they_are() -> None:
    x = torch.tensor([0.25, 0.5])
    assert torch.equal(to_float(x, torch.float64), x.double())


@given(st.lists(st.integers(0, 6), min_size=1, max_size=12))
def test_present_is_the_set_of_labels(labels: list[int]) -> None:
    y = torch.tensor(labels)
    assert present(y, 7).tolist() == [c in labels for c in range(7)]
    assert one_hot(y, 7).tolist() == [[c == label for c in range(7)] for label in labels]


def test_no_label_is_present_in_an_empty_batch() -> None:
    assert not present(torch.zeros(0, dtype=torch.int64), 3).any()


def test_present_works_under_vmap() -> None:
    y = torch.tensor([[0, 0, 2], [1, 1, 1]])
    masks = torch.func.vmap(lambda y: present(y, 3))(y)
    assert masks.tolist() == [[True, False, True], [False, True, False]]

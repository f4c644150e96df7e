"""Class-balanced draws: how many of each class, which rows, and how evenly."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bison_ocl.methods.aser.class_balanced import Draw, at_random, class_balanced
from bison_ocl.rng import Key, key_of

CLASSES = 5
rows = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.booleans()), min_size=1, max_size=30)


def drawn(draw: Draw) -> list[int]:
    return draw.slots[draw.valid].tolist()


def a_key(seed: int = 0) -> Key:
    return key_of(seed, 0, "draw")


def balanced(labels: list[int], allowed: list[bool], n: int, most: int, seed: int = 0) -> Draw:
    y, ok = torch.tensor(labels), torch.tensor(allowed)
    return class_balanced(a_key(seed), y, ok, CLASSES, n, torch.tensor(most))


@settings(max_examples=60)
@given(rows, st.integers(1, 6), st.integers(1, 8))
def test_each_class_gives_what_it_has_up_to_the_limit(
    held: list[tuple[int, bool]], n: int, most: int
) -> None:
    labels, allowed = map(list, zip(*held, strict=True))
    draw = balanced(labels, allowed, n, most)
    assert draw.slots.shape == draw.valid.shape == (CLASSES * n,)
    slots = drawn(draw)
    assert len(slots) == len(set(slots))
    assert all(allowed[slot] for slot in slots)
    for c in range(CLASSES):
        mine = [slot for slot in slots if labels[slot] == c]
        assert len(mine) == min(n, most, held.count((c, True)))
    by_class = draw.slots.reshape(CLASSES, n)
    for c, (places, ok) in enumerate(zip(by_class, draw.valid.reshape(CLASSES, n), strict=True)):
        assert (torch.tensor(labels)[places[ok]] == c).all()
    assert set(draw.mask(len(labels)).nonzero().flatten().tolist()) == set(slots)


def test_every_row_of_a_class_is_drawn_alike() -> None:
    labels, counts = [0] * 6 + [1] * 2 + [3] * 4, torch.zeros(12)
    for seed in range(1500):
        counts[drawn(balanced(labels, [True] * 12, 2, 2, seed))] += 1
    assert counts[:6].tolist() == pytest.approx([500] * 6, abs=75)
    assert counts[6:8].tolist() == [1500] * 2
    assert counts[8:].tolist() == pytest.approx([750] * 4, abs=90)


def test_more_classes_change_no_draw() -> None:
    y, ok = torch.tensor([2, 0, 1, 2, 2, 0, 4, 2]), torch.ones(8, dtype=torch.bool)
    few, many = (class_balanced(a_key(), y, ok, c, 2, torch.tensor(2)) for c in (5, 9))
    assert drawn(few) == drawn(many)


@pytest.mark.parametrize(("n", "most", "expected"), [(3, 9, 3), (9, 2, 2), (20, 20, 6)])
def test_at_random_takes_allowed_rows(n: int, most: int, expected: int) -> None:
    allowed = torch.arange(12) % 2 == 0
    draw = at_random(a_key(), allowed, n, torch.tensor(most))
    assert len(draw.slots) == min(n, 12)
    slots = drawn(draw)
    assert len(slots) == len(set(slots)) == expected
    assert allowed[slots].all()


def test_at_random_is_uniform() -> None:
    counts, allowed = torch.zeros(6), torch.tensor([1, 1, 0, 1, 1, 1]).bool()
    for seed in range(1500):
        counts[drawn(at_random(a_key(seed), allowed, 3, torch.tensor(2)))] += 1
    assert counts[2] == 0
    assert counts[allowed].tolist() == pytest.approx([600] * 5, abs=80)


def test_draws_are_the_same_under_vmap() -> None:
    y = torch.tensor([[0, 1, 2, 0, 1, 0], [4, 4, 4, 4, 4, 4]])
    allowed = torch.tensor([[1, 1, 0, 1, 1, 1], [1, 0, 1, 1, 0, 1]]).bool()
    bits, most = torch.tensor([3, 4]), torch.tensor([2, 1])

    def one(bits: Tensor, y: Tensor, ok: Tensor, most: Tensor) -> tuple[Tensor, ...]:
        first = class_balanced(Key(bits), y, ok, CLASSES, 2, most)
        second = at_random(Key(bits), ok, 4, most)
        return first.slots, first.valid, first.mask(6), second.slots, second.valid

    together = torch.func.vmap(one)(bits, y, allowed, most)
    for run in range(2):
        alone = one(bits[run], y[run], allowed[run], most[run])
        assert all(torch.equal(a[run], b) for a, b in zip(together, alone, strict=True))

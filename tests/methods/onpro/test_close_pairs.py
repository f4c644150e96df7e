"""Pairs of close classes: shares by a naive loop, counts that sum, rows of the right class."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bison_ocl.memory.memory import Memory
from bison_ocl.methods.onpro.close_pairs import (
    NONE,
    close_pairs,
    one_of_each,
    pair_shares,
    whole_shares,
)
from bison_ocl.rng import Key, key_of

KEY = key_of(0, 0, "pairs")


def table(classes: int, absent: tuple[int, ...] = (), seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randn(classes, 5, generator=generator, dtype=torch.float64)
    rows[list(absent)] = 0
    return rows


def naive_shares(prototypes: Tensor) -> dict[tuple[int, int], float]:
    """softmax(1 / distance) over the pairs of known classes."""
    known = [c for c in range(len(prototypes)) if prototypes[c].any()]
    weights = {
        (a, b): math.exp(1 / (prototypes[a] - prototypes[b]).norm().item())
        for a, b in combinations(known, 2)
    }
    return {pair: weight / sum(weights.values()) for pair, weight in weights.items()}


@pytest.mark.parametrize("absent", [(), (0, 3), (1, 2, 3, 4)])
def test_shares_equal_a_naive_loop(absent: tuple[int, ...]) -> None:
    prototypes = table(6, absent)
    shares, expected = pair_shares(prototypes), naive_shares(prototypes)
    for a in range(6):
        for b in range(6):
            assert shares[a, b].item() == pytest.approx(expected.get((a, b), 0), rel=1e-9)


def test_equal_prototypes_take_all() -> None:
    prototypes = table(4)
    prototypes[2] = prototypes[1]
    assert pair_shares(prototypes)[1, 2] == pytest.approx(1)


@given(seed=st.integers(0, 10**6), classes=st.integers(2, 9), n=st.integers(1, 30))
@settings(max_examples=60)
def test_counts_sum_and_stay_near_their_share(seed: int, classes: int, n: int) -> None:
    shares = pair_shares(0.3 * table(classes, seed=seed))
    counts = whole_shares(key_of(seed, 0, "pairs"), shares, n)
    assert counts.sum() == n
    assert (counts >= 0).all()
    assert (counts[shares == 0] == 0).all()
    assert (counts - n * shares).abs().max() <= 1.5
    rounded = (n * shares).round()
    changed = (counts - rounded)[shares > 0]
    assert (changed >= 0).all() if rounded.sum() < n else (changed <= 0).all()


def test_repairs_are_random_pairs() -> None:
    shares = torch.full((4, 4), 1 / 6, dtype=torch.float64).triu(1)
    found = [whole_shares(key_of(0, step, "pairs"), shares, 2) for step in range(600)]
    assert all(counts.sum() == 2 for counts in found)
    often = torch.stack(found).double().mean(0)[shares > 0]
    torch.testing.assert_close(often, torch.full_like(often, 1 / 3), rtol=0, atol=0.08)


@pytest.mark.parametrize("n", [1, 7, 16])
def test_pairs_come_as_often_as_counted(n: int) -> None:
    prototypes = table(6, absent=(2,))
    first, second = close_pairs(KEY, prototypes, n)
    counts = whole_shares(KEY, pair_shares(prototypes), n)
    found = Counter(zip(first.tolist(), second.tolist(), strict=True))
    assert sum(found.values()) == n
    assert all(counts[pair] == times for pair, times in found.items())


@pytest.mark.parametrize("absent", [(1, 2), (0, 1, 2)])
def test_one_class_or_none_makes_no_pair(absent: tuple[int, ...]) -> None:
    first, second = close_pairs(KEY, table(3, absent), 4)
    assert first.tolist() == second.tolist() == [NONE] * 4


def test_more_rows_change_no_pair() -> None:
    small = table(4)
    large = torch.cat([small, torch.zeros(5, 5, dtype=torch.float64)])
    for one, other in zip(close_pairs(KEY, small, 9), close_pairs(KEY, large, 9), strict=True):
        assert torch.equal(one, other)


def memory(y: list[int], capacity: int = 10) -> Memory:
    """Rows of the given classes; those not in use hold a label that must not be read."""
    rows = torch.full((capacity + 1,), 3)
    rows[: len(y)] = torch.tensor(y)
    x = torch.zeros(capacity + 1, 3, 1, 1, dtype=torch.uint8)
    return Memory(x, rows, torch.tensor(len(y)), {}, len(y))


def test_rows_are_of_the_wanted_class() -> None:
    held = memory([0, 1, 0, 2, 1, 0])
    wanted = torch.tensor([2, 0, 1, 1, 0])
    drawn = [one_of_each(key_of(0, step, "rows"), held, wanted, 4) for step in range(300)]
    assert all(torch.equal(held.y[slots], wanted) for slots in drawn)
    often = Counter(int(slots[1]) for slots in drawn)
    assert set(often) == {0, 2, 5}
    assert min(often.values()) > 70


def test_a_class_without_rows_is_replaced_by_a_random_one() -> None:
    """By a class, not by an image: the rare one comes as often as the common one."""
    held = memory([0, 0, 0, 0, 0, 1])
    wanted = torch.tensor([3, NONE])
    drawn = [one_of_each(key_of(0, step, "rows"), held, wanted, 4) for step in range(400)]
    for side in (0, 1):
        rare = sum(int(held.y[slots[side]]) == 1 for slots in drawn)
        assert 150 < rare < 250
        assert all(int(slots[side]) < 6 for slots in drawn)


def test_works_under_vmap() -> None:
    held = memory([0, 1, 0, 2, 1, 0])

    def one(bits: Tensor, prototypes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        first, second = close_pairs(Key(bits), prototypes, 7)
        return first, second, one_of_each(Key(bits), held, first, 4)

    bits = torch.stack([key_of(seed, 0, "pairs").bits for seed in range(3)])
    tables = torch.stack([table(4, seed=seed) for seed in range(3)])
    together = torch.func.vmap(one)(bits, tables)
    for part, expected in zip(together, zip(*map(one, bits, tables), strict=True), strict=True):
        assert torch.equal(part, torch.stack(expected))

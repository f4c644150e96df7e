"""KNN Shapley values against the definition, the recursion and numbers by hand."""

from __future__ import annotations

from itertools import combinations
from math import comb

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bison_ocl.methods.aser.class_balanced import Draw
from bison_ocl.methods.aser.shapley import (
    Points,
    exchange,
    knn_shapley,
    mean_value,
    most_valuable,
    squared_distances,
)
from bison_ocl.rng import key_of

SPARE = 100


def points(n: int, seed: int, valid: list[bool] | None = None, classes: int = 3) -> Points:
    generator = torch.Generator().manual_seed(seed)
    z = torch.rand((n, 2), generator=generator, dtype=torch.float64)
    y = torch.randint(0, classes, (n,), generator=generator)
    return Points(z, y, torch.tensor([True] * n if valid is None else valid))


def only_valid(p: Points) -> Points:
    return Points(p.z[p.valid], p.y[p.valid], p.valid[p.valid])


def vote(z: Tensor, y: int, candidates: Points, subset: tuple[int, ...], k: int) -> float:
    """What a set of candidates is worth: the share of K votes that its nearest give to y."""
    near = sorted(subset, key=lambda i: float((candidates.z[i] - z).square().sum()))[:k]
    return sum(int(candidates.y[i]) == y for i in near) / k


def by_definition(z: Tensor, y: int, candidates: Points, k: int) -> list[float]:
    """The mean of what a candidate adds, over sizes and over all sets of the others."""
    n = len(candidates.y)
    values = []
    for i in range(n):
        others, value = [j for j in range(n) if j != i], 0.0
        for size in range(n):
            for subset in combinations(others, size):
                added = vote(z, y, candidates, (*subset, i), k) - vote(z, y, candidates, subset, k)
                value += added / comb(n - 1, size) / n
        values.append(value)
    return values


def by_recursion(z: Tensor, y: int, candidates: Points, k: int) -> list[float]:
    """The recursion: s_N = q_N / N; s_i = s_(i+1) + (q_i − q_(i+1)) / K · min(K, i) / i."""
    n = len(candidates.y)
    order = sorted(range(n), key=lambda i: float((candidates.z[i] - z).square().sum()))
    q = [float(candidates.y[i] == y) for i in order]
    values, s = [0.0] * n, q[-1] / n
    values[order[-1]] = s
    for i in range(n - 1, 0, -1):
        s += (q[i - 1] - q[i]) / k * min(k, i) / i
        values[order[i - 1]] = s
    return values


@pytest.mark.parametrize(
    ("k", "expected"), [(3, [1 / 3, 0, 1 / 3, 0]), (1, [5 / 6, -1 / 6, 1 / 3, 0])]
)
def test_numbers_by_hand(k: int, expected: list[float]) -> None:
    line, everyone = torch.arange(5.0)[:, None], torch.ones(5, dtype=torch.bool)
    candidates = Points(line[1:], torch.tensor([0, 1, 0, 1]), everyone[1:])
    evaluation = Points(line[:1], torch.tensor([0]), everyone[:1])
    (values,) = knn_shapley(evaluation, candidates, k)
    assert values.tolist() == pytest.approx(expected)
    assert values.sum().item() == pytest.approx({3: 2 / 3, 1: 1}[k])


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_equals_the_definition(n: int, k: int) -> None:
    evaluation, candidates = points(4, 1), points(n, 2)
    values = knn_shapley(evaluation, candidates, k)
    for row, z, y in zip(values, evaluation.z, evaluation.y.tolist(), strict=True):
        assert row.tolist() == pytest.approx(by_definition(z, y, candidates, k))


def test_equals_the_recursion_and_sums_to_the_vote() -> None:
    evaluation, candidates = points(12, 3), points(40, 4)
    values = knn_shapley(evaluation, candidates, 3)
    for row, z, y in zip(values, evaluation.z, evaluation.y.tolist(), strict=True):
        assert row.tolist() == pytest.approx(by_recursion(z, y, candidates, 3))
        assert row.sum().item() == pytest.approx(vote(z, y, candidates, tuple(range(40)), 3))


@settings(max_examples=40)
@given(
    st.lists(st.booleans(), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=1, max_size=8),
    st.integers(1, 4),
)
def test_points_that_do_not_count_change_nothing(
    candidate: list[bool], evaluated: list[bool], k: int
) -> None:
    candidates = points(len(candidate), 5, candidate)
    evaluation = points(len(evaluated), 6, evaluated)
    values = knn_shapley(evaluation, candidates, k)
    expected = knn_shapley(only_valid(evaluation), only_valid(candidates), k)
    torch.testing.assert_close(values[evaluation.valid][:, candidates.valid], expected)
    assert (values[~evaluation.valid] == 0).all()
    mean = expected.mean(0) if any(evaluated) else expected.sum(0)
    torch.testing.assert_close(mean_value(evaluation, candidates, k)[candidates.valid], mean)


def test_features_that_do_not_count_may_be_anything() -> None:
    candidates = points(6, 7, [True, False, True, True, False, True])
    wild = candidates.z.masked_fill(~candidates.valid[:, None], float("nan"))
    evaluation, other = points(3, 8), Points(wild, candidates.y, candidates.valid)
    one, two = (knn_shapley(evaluation, c, 3)[:, candidates.valid] for c in (candidates, other))
    assert torch.equal(one, two)


def test_the_same_under_vmap() -> None:
    sets = [(points(5, i), points(7, 10 + i, [j != i for j in range(7)])) for i in range(3)]
    args = [
        torch.stack([getattr(pair[side], name) for pair in sets])
        for side in (0, 1)
        for name in ("z", "y", "valid")
    ]
    together = torch.func.vmap(lambda *a: knn_shapley(Points(*a[:3]), Points(*a[3:]), 3))(*args)
    for values, (evaluation, candidates) in zip(together, sets, strict=True):
        assert torch.equal(values, knn_shapley(evaluation, candidates, 3))


def test_squared_distances() -> None:
    a, b = points(4, 1).z, points(5, 2).z
    torch.testing.assert_close(squared_distances(a, b), torch.cdist(a, b).square())


def test_the_most_valuable_slots_come_first_and_random_ones_fill_up() -> None:
    draw = Draw(torch.tensor([7, 2, 5, 0]), torch.tensor([True, True, False, True]))
    values = torch.tensor([-1.9, 0.2, 2.0, -0.3], dtype=torch.float64)
    filled = set()
    for seed in range(60):
        slots = most_valuable(key_of(seed, 0, "fill"), draw, values, 9, 5).tolist()
        assert slots[:3] == [2, 0, 7]
        assert len(set(slots)) == 5
        filled |= set(slots[3:])
    assert filled == {1, 3, 4, 5, 6, 8}  # slot 5 was not drawn: its place in the draw was vacant
    assert most_valuable(key_of(0, 0, "fill"), draw, values, 9, 2).tolist() == [2, 0]


def test_values_that_differ_by_rounding_are_equal_and_come_at_random() -> None:
    draw, first = Draw(torch.tensor([3, 1]), torch.tensor([True, True])), set()
    for seed in range(20):
        for_key = key_of(seed, 0, "fill")
        both = [
            most_valuable(for_key, draw, torch.tensor([0.5 + noise, 0.5]).double(), 4, 2).tolist()
            for noise in (1e-12, -1e-12)
        ]
        assert both[0] == both[1]
        first.add(both[0][0])
    assert first == {1, 3}


def exchanged(held: list[tuple[int, float, bool]], new: list[float]) -> list[int]:
    """The rule with lists: rank, cut after as many as were held, pair in rank order."""
    rows = [(value, place) for place, (_, value, valid) in enumerate(held) if valid]
    items = [(value, len(held) + place) for place, value in enumerate(new)]
    ranked = sorted(rows + items, key=lambda pair: (-pair[0], pair[1]))
    large, small = ranked[: len(rows)], ranked[len(rows) :]
    enters = [place - len(held) for _, place in large if place >= len(held)]
    leaves = [held[place][0] for _, place in small if place < len(held)]
    slots = dict(zip(enters, leaves, strict=True))
    return [slots.get(i, SPARE) for i in range(len(new))]


worth = st.integers(-4, 4).map(lambda v: v / 4)


@settings(max_examples=150)
@given(
    st.lists(st.tuples(worth, st.booleans()), min_size=0, max_size=12),
    st.lists(worth, min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_exchange_equals_the_rule_with_lists(rows, new, random) -> None:  # type: ignore[no-untyped-def]
    slots = random.sample(range(50), len(rows))
    held = [(slot, value, valid) for slot, (value, valid) in zip(slots, rows, strict=True)]
    draw = Draw(
        torch.tensor(slots, dtype=torch.int64),
        torch.tensor([valid for _, valid in rows], dtype=torch.bool),
    )
    values = torch.tensor([value for value, _ in rows] + new, dtype=torch.float64)
    found = exchange(draw, values, SPARE).tolist()
    assert found == exchanged(held, new)
    taken = [slot for slot in found if slot != SPARE]
    assert len(taken) == len(set(taken))


def test_exchange_by_hand() -> None:
    """Rows worth 5, 1, 3; items worth 4, 0, 2: the first item takes the slot of the row worth 1."""
    draw = Draw(torch.tensor([11, 12, 13]), torch.tensor([True, True, True]))
    values = torch.tensor([5.0, 1.0, 3.0, 4.0, 0.0, 2.0])
    assert exchange(draw, values, SPARE).tolist() == [12, SPARE, SPARE]
    values = torch.tensor([1.0, 2.0, 9.0, 4.0, 0.0, 5.0])  # the best item with the best that leaves
    assert exchange(draw, values, SPARE).tolist() == [11, SPARE, 12]

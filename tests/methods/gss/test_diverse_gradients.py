"""Gradient-based sample selection: known numbers, victims, exchanges."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bison_ocl.batch import Batch
from bison_ocl.memory.memory import Memory, Write, empty
from bison_ocl.methods.gss.diverse_gradients import append, exchange, odds, victims, weights
from bison_ocl.rng import key, key_of, uniform


def full(scores: list[float]) -> Memory:
    n = len(scores)
    values = torch.tensor(scores, dtype=torch.float64)
    memory = empty(n, (1, 1, 1), {"score": values[0]}, torch.device("cpu"))
    new = Batch(torch.zeros((n, 1, 1, 1), dtype=torch.uint8), torch.arange(n))
    write = Write(torch.arange(n), torch.tensor(n), {"score": values})
    memory.fields["score"].fill_(float("nan"))  # of the spare row
    return memory.write(new, write)


def test_known_weights_and_odds() -> None:
    scores = torch.tensor([0.1, 0.5, -0.2, 0.9], dtype=torch.float64)
    assert weights(scores).tolist() == pytest.approx([0.270270, 0.630631, 0, 0.990991], abs=5e-7)
    chance = odds(torch.tensor([0.5], dtype=torch.float64), torch.tensor([-0.3]))
    assert chance.item() == pytest.approx(0.6818182, abs=5e-8)


@pytest.mark.parametrize(("filled", "slots"), [(0, [0, 1, 2, 3]), (3, [3, 4, 5, 5]), (4, [4, 5])])
def test_items_are_appended_while_there_is_room(filled: int, slots: list[int]) -> None:
    memory = empty(5, (1, 1, 1), {"score": torch.tensor(0.0)}, torch.device("cpu"))
    new = Batch(torch.zeros((filled, 1, 1, 1), dtype=torch.uint8), torch.arange(filled))
    memory = memory.write(new, Write(torch.arange(filled), torch.tensor(filled)))
    scores = torch.rand(len(slots))
    write = append(memory, scores)
    assert write.slots.tolist() == slots
    assert write.seen == filled + len(slots)
    assert torch.equal(write.fields["score"], scores)


scores_of_rows = st.lists(
    st.sampled_from([-1.0, -0.5, 0.0, 0.1, 0.3, 1.0]), min_size=1, max_size=12
)


@given(scores_of_rows, st.integers(1, 12), st.integers(0, 99))
def test_victims_are_distinct_and_never_of_the_lowest_score(
    scores: list[float], n: int, seed: int
) -> None:
    n = min(n, len(scores))
    rows = victims(key_of(seed, 0, "v"), torch.tensor(scores), n).tolist()
    assert len(set(rows)) == n
    assert max(rows) < len(scores)
    if sum(score > min(scores) for score in scores) >= n:
        assert all(scores[row] > min(scores) for row in rows)


def test_victims_come_as_their_weights_say() -> None:
    """The odds of a first and of a second victim, without replacement."""
    scores = torch.tensor([0.1, 0.5, -0.2, 0.9], dtype=torch.float64)
    runs, weight = 4000, weights(scores).tolist()
    total = sum(weight)
    seeds = torch.arange(runs)
    drawn = torch.func.vmap(lambda s: victims(key(s, s * 0, "victims"), scores, 2))(seeds)
    for row in range(4):
        first = weight[row] / total
        second = sum(
            w / total * weight[row] / (total - w) for i, w in enumerate(weight) if i != row
        )
        share = (drawn == row).double().mean(0).tolist()
        assert share == pytest.approx([first, second], abs=0.025)


def test_equal_scores_give_every_row_the_same_odds() -> None:
    scores = torch.full((5,), 0.1)
    seeds = torch.arange(3000)
    drawn = torch.func.vmap(lambda s: victims(key(s, s * 0, "victims"), scores, 3))(seeds)
    for row in range(5):
        assert (drawn == row).any(1).double().mean().item() == pytest.approx(0.6, abs=0.03)


def naive_exchange(held: list[float], new: list[float], useful: bool, seed: int) -> list[int]:
    """The rule, item by item, with the same draws."""
    store, spare = key_of(seed, 0, "store"), len(held)
    n = min(len(held), len(new))
    values = torch.tensor(held, dtype=torch.float64)
    chosen = victims(store.named("victims"), values, n).tolist()
    chances = uniform(store.named("exchange"), (n,)).tolist()
    slots = []
    for i, c in enumerate(new):
        if not useful or i >= n:
            slots.append(spare)
            continue
        old = (held[chosen[i]] + 1) / 2
        probability = old / (old + (c + 1) / 2) if old + c + 1 else 0
        slots.append(chosen[i] if chances[i] < probability else spare)
    return slots


@given(scores_of_rows, scores_of_rows, st.booleans(), st.integers(0, 99))
def test_an_exchange_equals_a_plain_loop(
    held: list[float], new: list[float], useful: bool, seed: int
) -> None:
    memory, scores = full(held), torch.tensor(new, dtype=torch.float64)
    write = exchange(key_of(seed, 0, "store"), memory, scores, torch.tensor(useful))
    assert write.slots.tolist() == naive_exchange(held, new, useful, seed)
    assert torch.equal(write.fields["score"], scores)
    assert write.seen == len(held) + len(new)
    taken = [slot for slot in write.slots.tolist() if slot < len(held)]
    assert len(set(taken)) == len(taken)

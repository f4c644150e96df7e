"""Reservoir: who enters and who stays, against plain loops and the known odds."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.memory.memory import Memory, Write, empty
from bison_ocl.memory.reservoir import later_wins, reservoir
from bison_ocl.rng import Key, integers, key, key_of

CPU = torch.device("cpu")


def items(first: int, n: int) -> Batch:
    y = torch.arange(first, first + n)
    return Batch(torch.zeros((n, 1, 1, 1), dtype=torch.uint8), y)


def offer(memory: Memory, first: int, n: int, step: int, exact: bool = False) -> Memory:
    write = reservoir(key_of(0, step, "store"), memory, n, exact)
    return memory.write(items(first, n), write)


def naive_batch_rule(key: Key, held: list[int], seen: int, capacity: int, new: list[int]) -> int:
    """The field's rule, line by line; changes `held`, returns the new count."""
    fits = min(capacity - len(held), len(new))
    held.extend(new[:fits])
    n = seen + fits
    draws = integers(key, max(n, 1), (len(new),)).tolist()
    for i in range(fits, len(new)):
        if draws[i] < capacity:
            held[draws[i]] = new[i]
    return n + len(new) - fits


def naive_exact_rule(key: Key, held: list[int], seen: int, capacity: int, new: list[int]) -> int:
    """Vitter's algorithm R: item t (from 0) replaces row j ~ U{0..t} if there is one."""
    bounds = torch.arange(seen, seen + len(new)) + 1
    for i, j in enumerate(integers(key, bounds, (len(new),)).tolist()):
        if len(held) < capacity:
            held.append(new[i])
        elif j < capacity:
            held[j] = new[i]
    return seen + len(new)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("capacity", "size"), [(7, 3), (4, 10), (20, 10), (1, 1), (0, 5), (5, 5)])
def test_equals_a_plain_loop(capacity: int, size: int, exact: bool) -> None:
    memory = empty(capacity, (1, 1, 1), {}, CPU)
    held: list[int] = []
    seen = 0
    rule = naive_exact_rule if exact else naive_batch_rule
    for step in range(30):
        new = list(range(step * size, (step + 1) * size))
        seen = rule(key_of(0, step, "store"), held, seen, capacity, new)
        memory = offer(memory, step * size, size, step, exact)
        assert memory.y[: memory.filled].tolist() == held
        assert memory.seen == seen == (step + 1) * size
        assert memory.filled == min(seen, capacity) == len(held)


def test_batches_of_changing_size_fill_every_row() -> None:
    memory, first = empty(10, (1, 1, 1), {}, CPU), 0
    for step, n in enumerate((3, 1, 4, 9, 2)):
        memory = offer(memory, first, n, step)
        first += n
        assert memory.filled == min(first, 10)
        assert memory.seen == first
    assert len(set(memory.y[:10].tolist())) == 10


def test_the_second_step_replays_exactly_the_first_batch() -> None:
    memory = offer(empty(200, (1, 1, 1), {}, CPU), 0, 10, step=0)
    found = memory.sample(key_of(0, 1, "retrieve"), 10)
    assert found is not None
    assert sorted(found.y.tolist()) == list(range(10))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_the_later_item_wins_a_slot(slots: list[int]) -> None:
    """Row 4 is the spare one. The rows end as if the items were written one after the other."""
    spare = 4
    last = {slot: i for i, slot in enumerate(slots) if slot != spare}
    settled = later_wins(torch.tensor(slots), spare).tolist()
    assert {slot: i for i, slot in enumerate(settled) if slot != spare} == last
    taken = [slot for slot in settled if slot != spare]
    assert len(taken) == len(set(taken))


def survival(n_items: int, capacity: int, size: int = 10) -> float:
    """The odds that an item of the first filling is still there, by the batch rule."""
    odds = 1.0
    for n in range(capacity, n_items, size):
        odds *= (1 - 1 / n) ** size
    return odds


def test_known_odds_of_the_batch_rule() -> None:
    assert survival(10_000, 200) == pytest.approx(0.0194628, abs=5e-8)
    assert survival(50_000, 200) == pytest.approx(0.00389085, abs=5e-9)
    assert survival(1000, 50) == pytest.approx(0.0448, abs=5e-5)


@cache
def keep_rates(exact: bool, runs: int = 1000, capacity: int = 50, n: int = 1000) -> list[float]:
    """The share of items kept by many runs, over each 50 items of the stream."""
    memory = tree.stack([empty(capacity, (1, 1, 1), {}, CPU)] * runs)
    seeds = torch.arange(runs)

    def store(memory: Memory, seed: Tensor, step: Tensor) -> Write:
        return reservoir(key(seed, step, "store"), memory, 10, exact)

    for first in range(0, n, 10):
        write = tree.vectorised(store)(memory, seeds, torch.full((runs,), first))
        memory = memory.write(tree.stack([items(first, 10)] * runs), write)
    kept = torch.bincount(memory.y[:, :capacity].flatten(), minlength=n)
    return (kept.reshape(-1, 50).double().mean(1) / runs).tolist()


def test_survival_by_the_batch_rule() -> None:
    rates = keep_rates(exact=False)
    assert rates[0] == pytest.approx(survival(1000, 50), abs=0.003)
    assert sum(rates[5:15]) / 10 == pytest.approx(0.0504, abs=0.001)
    assert rates[-1] == pytest.approx(0.0501, abs=0.003)


def test_survival_by_the_exact_rule_is_the_same_for_all() -> None:
    rates = keep_rates(exact=True)
    assert rates == pytest.approx([0.05] * 20, abs=0.004)
    assert rates[0] == pytest.approx(0.05, abs=0.003)


def test_a_full_memory_is_hit_in_every_row_alike() -> None:
    memory = empty(4, (1, 1, 1), {}, CPU)
    memory = memory.write(items(0, 4), Write(torch.arange(4), torch.tensor(16)))
    slots = [reservoir(key_of(s, 0, "store"), memory, 1).slots.item() for s in range(3200)]
    counts = [slots.count(j) for j in range(5)]
    assert counts[4] == pytest.approx(2400, abs=100)  # dropped: 12 of 16
    assert counts[:4] == pytest.approx([200] * 4, abs=60)

"""GDumb's sampler against a loop over dicts of lists, and a trace by hand."""

from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bison_ocl.batch import Batch
from bison_ocl.memory.memory import Memory, empty
from bison_ocl.methods.gdumb.greedy_balance import greedy_balance
from bison_ocl.rng import key_of

CLASSES = 6


def offered(labels: list[int], capacity: int, batch: int) -> list[list[int]]:
    """The labels held after each batch of a stream, in the rows in use."""
    memory: Memory = empty(capacity, (1, 1, 1), {}, torch.device("cpu"))
    held = []
    for start in range(0, len(labels), batch):
        y = torch.tensor(labels[start : start + batch])
        write = greedy_balance(key_of(0, start, "store"), memory, y, CLASSES)
        memory = memory.write(Batch(y.to(torch.uint8)[:, None, None, None], y), write)
        rows = memory.y[: memory.capacity][memory.used]
        assert torch.equal(rows, memory.x[: memory.capacity][memory.used].flatten().long())
        held.append(rows.tolist())
    return held


def expected_counts(labels: list[int], capacity: int) -> list[dict[int, int]]:
    """The sampler in words: only the counts matter for what is accepted."""
    counts: dict[int, int] = {}
    trace = []
    for label in labels:
        share = capacity // max(1, len(counts))
        if label not in counts or counts[label] < share:
            if sum(counts.values()) >= capacity:
                largest = max(sorted(counts), key=lambda c: counts[c])
                counts[largest] -= 1
                counts = {c: n for c, n in counts.items() if n}
            counts[label] = counts.get(label, 0) + 1
        trace.append(dict(counts))
    return trace


def count(labels: list[int]) -> dict[int, int]:
    return {label: labels.count(label) for label in set(labels)}


def test_a_trace_by_hand() -> None:
    held = offered([0, 0, 0, 0, 1, 1, 2, 1], capacity=4, batch=1)
    assert [count(labels) for labels in held] == [
        {0: 1},
        {0: 2},
        {0: 3},
        {0: 4},
        {0: 3, 1: 1},
        {0: 2, 1: 2},
        {0: 1, 1: 2, 2: 1},
        {0: 1, 1: 2, 2: 1},
    ]


@settings(max_examples=40)
@given(st.lists(st.integers(0, CLASSES - 1), min_size=1, max_size=50), st.integers(6, 12))
def test_counts_equal_the_naive_sampler_item_by_item_and_in_batches(
    labels: list[int], capacity: int
) -> None:
    # Ids follow the order of appearance, as in a run: ties go to the class met first.
    seen: dict[int, int] = {}
    labels = [seen.setdefault(label, len(seen)) for label in labels]
    naive = expected_counts(labels, capacity)
    single = offered(labels, capacity, batch=1)
    assert [count(held) for held in single] == naive
    assert count(offered(labels, capacity, batch=7)[-1]) == naive[-1]


@settings(max_examples=25)
@given(st.lists(st.integers(0, CLASSES - 1), min_size=30, max_size=80))
def test_no_class_takes_anothers_room(labels: list[int]) -> None:
    held = count(offered(labels, capacity=12, batch=5)[-1])
    room = 12 // len(held)
    for label, n in held.items():
        assert n >= min(labels.count(label), 1)
        assert n <= max(room, 12 - sum(v for c, v in held.items() if c != label))


def test_victims_are_random_rows_of_the_largest_class() -> None:
    memory = empty(40, (1, 1, 1), {}, torch.device("cpu"))
    memory.y[:30], memory.y[30:40] = 0, 1
    memory = replace(memory, seen=torch.tensor(40), filled=40)
    y = torch.tensor([2])
    slots = {
        int(greedy_balance(key_of(seed, 0, "store"), memory, y, 3).slots[0]) for seed in range(60)
    }
    assert max(slots) < 30
    assert len(slots) > 15

"""The bounded store: what is drawn, what a write touches, what it weighs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from scipy import stats

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.memory.memory import Memory, Write, empty
from bison_ocl.rng import key, key_of
from tests.tiny import same, snapshot

CPU = torch.device("cpu")
SHAPE = (3, 2, 2)


def batch(first: int, n: int) -> Batch:
    """Items first..first+n-1, each an image full of its own number."""
    y = torch.arange(first, first + n)
    return Batch(y.to(torch.uint8)[:, None, None, None].expand(n, *SHAPE), y)


def holding(n: int, capacity: int, fields: dict[str, torch.Tensor] | None = None) -> Memory:
    """A memory with items 0..n-1 in rows 0..n-1, and rubbish in the spare row."""
    memory = empty(capacity, SHAPE, fields or {}, CPU)
    memory.y.fill_(-1)
    return memory.write(batch(0, n), Write(torch.arange(n), torch.tensor(n)))


def test_a_new_memory_is_empty() -> None:
    memory = empty(5, SHAPE, {}, CPU)
    assert (memory.capacity, memory.filled, memory.seen.item()) == (5, 0, 0)
    assert memory.x.shape == (6, *SHAPE)
    assert not memory.used.any()
    assert memory.sample(key_of(0, 0, "retrieve"), 3) is None


def test_a_memory_of_no_rows_stays_empty() -> None:
    memory = empty(0, SHAPE, {}, CPU)
    memory = memory.write(batch(0, 3), Write(torch.tensor([0, 0, 0]), torch.tensor(3)))
    assert memory.filled == 0
    assert memory.sample(key_of(0, 0, "retrieve"), 3) is None


def test_all_rows_come_back_if_fewer_are_filled() -> None:
    found = holding(4, capacity=9).sample(key_of(0, 0, "retrieve"), 10)
    assert found is not None
    assert sorted(found.y.tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize(("n", "capacity"), [(10, 10), (12, 30)])
def test_draws_are_distinct_filled_rows_each_as_likely(n: int, capacity: int) -> None:
    memory = holding(n, capacity)
    counts = torch.zeros(n)
    for seed in range(600):
        found = memory.sample(key_of(seed, 0, "retrieve"), 4)
        assert found is not None
        assert len(set(found.y.tolist())) == 4
        assert found.y.min() >= 0  # neither an empty row nor the spare one
        assert (found.x == found.y.to(torch.uint8)[:, None, None, None]).all()
        counts[found.y] += 1
    # Without replacement the counts vary less than multinomial ones: only the upper tail can fail.
    assert stats.chisquare(counts.numpy()).pvalue > 1e-4


def test_a_draw_copies_the_rows() -> None:
    memory = holding(4, 4)
    found = memory.sample(key_of(0, 0, "retrieve"), 4)
    assert found is not None
    found.x.fill_(99)
    assert memory.x.max() < 99


def test_draws_under_vmap_equal_a_loop() -> None:
    memories = [holding(7, 20), holding(7, 20)]
    seeds = torch.tensor([3, 9])

    def draw(memory: Memory, seed: torch.Tensor) -> Batch:
        found = memory.sample(key(seed, seed * 0, "retrieve"), 5)
        assert found is not None
        return found

    together = tree.vectorised(draw)(tree.stack(memories), seeds)
    for i in range(2):
        alone = draw(memories[i], seeds[i])
        assert same(snapshot(tree.pick(together, i)), snapshot(alone))
    assert not torch.equal(together.y[0], together.y[1])


def test_a_write_is_in_place_and_touches_only_its_rows() -> None:
    memory = holding(6, capacity=8, fields={"logits": torch.zeros(3)})
    before = snapshot(memory)
    new, logits = batch(50, 3), torch.arange(9.0).reshape(3, 3)
    slots = torch.tensor([4, 8, 0])
    written = memory.write(new, Write(slots, torch.tensor(9), {"logits": logits}))
    assert written.x is memory.x
    assert written.y is memory.y
    assert (written.seen, written.filled) == (9, 8)
    rest = torch.tensor([1, 2, 3, 5, 6, 7])
    for name in ("x", "y", "fields.logits"):
        assert torch.equal(tree.named(written)[name][rest], before[name][rest])
    assert torch.equal(written.x[slots], new.x)
    assert torch.equal(written.y[slots], new.y)
    assert torch.equal(written.fields["logits"][slots], logits)


def test_a_stacked_write_equals_one_write_for_each_run() -> None:
    runs = [holding(6, 8, {"f": torch.zeros(2)}) for _ in range(3)]
    batches = [batch(20 * i, 2) for i in range(3)]
    slots = torch.tensor([[0, 3], [8, 1], [6, 7]])
    fields = torch.arange(12.0).reshape(3, 2, 2)
    stacked = tree.stack(runs)
    written = stacked.write(
        tree.stack(batches), Write(slots, torch.tensor([8, 8, 8]), {"f": fields})
    )
    assert written.x is stacked.x
    assert written.filled == 8
    for i in range(3):
        alone = runs[i].write(batches[i], Write(slots[i], torch.tensor(8), {"f": fields[i]}))
        assert same(snapshot(tree.pick(written, i)), snapshot(alone))


def test_filled_rows_saturate() -> None:
    memory = holding(6, 8)
    for seen in (9, 12):
        slots = torch.full((3,), memory.capacity)
        memory = memory.write(batch(0, 3), Write(slots, torch.tensor(seen)))
    assert memory.filled == 8
    assert memory.used.all()


def test_used_rows_are_the_first_ones() -> None:
    assert holding(2, 5).used.tolist() == [True, True, False, False, False]


def test_rows_in_use_leave_out_empty_ones_and_the_spare() -> None:
    memory = holding(4, 9, {"f": torch.ones(2)}).in_use()
    assert memory.y.tolist() == [0, 1, 2, 3]
    assert memory.x.shape == (4, *SHAPE)
    assert memory.fields["f"].shape == (4, 2)


def test_images_are_kept_as_bytes_and_little_else() -> None:
    for capacity, shape in ((200, (3, 32, 32)), (5000, (3, 84, 84)), (1, (3, 32, 32))):
        memory = empty(capacity, shape, {}, CPU)
        assert memory.x.dtype == torch.uint8
        weight = sum(leaf.numel() * leaf.element_size() for leaf in tree.leaves(memory))
        row = shape[0] * shape[1] * shape[2]
        labels = 16  # the spare row's label, and the count of items offered
        assert weight <= capacity * row * 1.01 + row + labels


def test_free_rows_are_filled_before_others_are_replaced() -> None:
    """After a refused step a memory that counts as full has rows without an image."""
    memory = replace(holding(3, 5), filled=5)
    assert memory.free_first(torch.tensor([0, 5, 1, 5])).tolist() == [3, 4, 1, 5]

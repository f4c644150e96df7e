"""Rows with numbers, which can be removed: alone and in stacks, in every execution."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from bison_ocl import tree
from bison_ocl.engine.step import Engine
from bison_ocl.memory.memory import ARRIVED
from bison_ocl.memory.removal import numbered, reduced, rows_in_use
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured
from bison_ocl.rng import key_of
from bison_ocl.state import State
from tests.memory.test_memory import holding
from tests.tiny import begin, same, snapshot, stream


def begun(name: str, seed: int) -> State:
    me = begin(configured(name, None, {}), seed)
    return replace(me, memory=numbered(me.memory))


@pytest.mark.parametrize("name", ["er", "bison", "gdumb", "gss", "aser", "lode"])
def test_numbers_are_the_same_in_a_stack_and_change_no_step(name: str) -> None:
    method = configured(name, None, {})
    alone, stacked = Engine(method), Engine(method, tree.vectorised)
    both = tree.stack([begun(name, seed) for seed in (0, 1)])
    singles = [begun(name, seed) for seed in (0, 1)]
    plain = begin(method, 0)
    for new in stream(0)[0]:
        both, _ = stacked.step(both, tree.stack([new, new]))
        singles = [alone.step(me, new)[0] for me in singles]
        plain, _ = alone.step(plain, new)
    for run, me in enumerate(singles):
        found = both.memory.fields[ARRIVED][run, :-1]
        assert torch.equal(found, me.memory.fields[ARRIVED][:-1])
    fields = {n: v for n, v in singles[0].memory.fields.items() if n != ARRIVED}
    bare = replace(singles[0], memory=replace(singles[0].memory, fields=fields, uncounted=None))
    assert same(snapshot(bare), snapshot(plain))


def test_kept_rows_move_to_the_front_and_nothing_else_is_left() -> None:
    memory = numbered(holding(5, 7, {"score": torch.tensor(0.5)}))
    memory.fields[ARRIVED][:5] = torch.arange(10, 15)
    less = reduced(memory, torch.tensor([1, 4]))
    assert rows_in_use(less) == [(1, 11), (4, 14)]
    assert (less.filled, less.capacity, int(less.seen), int(less.offered)) == (2, 7, 2, 5)
    assert int(reduced(less, torch.tensor([1])).offered) == 5  # however often rows are removed
    assert less.x[2:].sum() == 0
    assert less.fields["score"].tolist() == [0.5, 0.5, *[0.0] * 6]
    assert less.fields[ARRIVED].tolist() == [11, 14, *[-1] * 6]
    assert memory.x[4].sum() > 0
    drawn = less.draw(key_of(0, 0, "retrieve"), 2)
    assert sorted(drawn.tolist()) == [0, 1]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_run_has_no_numbers(name: str) -> None:
    me = begin(configured(name, None, {}))
    assert ARRIVED not in me.memory.fields
    assert me.memory.uncounted is None
    assert me.memory.offered is me.memory.seen

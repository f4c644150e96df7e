"""Class sets as masks of the table, and the small helpers of a state."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from bison_ocl import rng
from bison_ocl.batch import Batch
from bison_ocl.methods.er import ER
from bison_ocl.state import State
from tests.tiny import begin, labelled, same, snapshot


def with_table(table: list[int], task: int, closed: bool = True) -> State:
    me = begin(ER(), classes=len(table), closed=closed)
    return replace(me, table=torch.tensor(table), task=torch.tensor(task))


def test_masks_come_from_the_table() -> None:
    me = with_table([0, 1, -1, 0, 1, -1], task=1)
    assert me.classes == 6
    assert me.seen.tolist() == [True, True, False, True, True, False]
    assert me.new.tolist() == [False, True, False, False, True, False]
    assert me.old.tolist() == [True, False, False, True, False, False]


@pytest.mark.parametrize("closed", [True, False])
def test_live_rows_are_all_or_the_seen_ones(closed: bool) -> None:
    me = with_table([0, -1, 1], task=1, closed=closed)
    assert me.live.tolist() == [True, closed, True]


def test_nothing_is_seen_at_the_start() -> None:
    me = begin(ER(), closed=False)
    assert not (me.seen | me.new | me.old | me.live).any()
    assert (me.step, me.task, me.later) == (0, 0, False)


def test_meet_enters_new_labels_under_the_current_task() -> None:
    me = with_table([0, -1, -1, -1], task=2).meet(torch.tensor([3, 0, 3, 1]))
    assert me.table.tolist() == [0, 2, -1, 2]


def test_meet_changes_no_other_state() -> None:
    me = with_table([0, -1], task=1)
    before = snapshot(me)
    me.meet(torch.tensor([1]))
    assert same(snapshot(me), before)


def test_meet_works_under_vmap() -> None:
    tables = torch.tensor([[0, -1, -1], [-1, 0, -1]])
    me = with_table([0, 0, 0], task=1)

    def meet(table: Tensor, y: Tensor) -> Tensor:
        return replace(me, table=table).meet(y).table

    met = torch.func.vmap(meet)(tables, torch.tensor([[0, 2], [0, 2]]))
    assert met.tolist() == [[0, -1, 1], [1, 0, 1]]


def test_keys_follow_seed_step_and_name() -> None:
    me = replace(begin(ER(), seed=3), step=torch.tensor(8))
    assert torch.equal(me.key("view").bits, rng.key_of(3, 8, "view").bits)


def test_grad_differentiates_the_loss_of_this_state() -> None:
    me = begin(ER())

    def loss(me: State, new: Batch) -> Tensor:
        return 2 * me.net.weight("linear").sum() + new.y.sum()

    value, grads = me.grad(loss, labelled(torch.tensor([1, 3])))
    assert value == 2 * me.net.weight("linear").sum() + 4
    assert (grads["linear"]["weight"] == 2).all()
    assert (grads["backbone"]["stem.weight"] == 0).all()


def test_with_extra_adds_and_replaces() -> None:
    me = begin(ER()).with_extra(a=torch.ones(1))
    assert me.with_extra(b=torch.zeros(1)).extra.keys() == {"a", "b"}
    assert me.with_extra(a=torch.zeros(2)).extra["a"].shape == (2,)
    assert me.extra["a"].shape == (1,)

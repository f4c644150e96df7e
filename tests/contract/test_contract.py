"""Every method of the package keeps the contract, and more than is asked of those outside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.contract.checks import CHECKS, Check, promise
from bison_ocl.contract.moments import (
    CLASSES,
    LENGTH,
    SEEDS,
    TASKS,
    course,
    held,
    lockstep,
    moments,
)
from bison_ocl.contract.world import begin, held_out, same, snapshot
from bison_ocl.engine.step import Engine
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.er import ER
from bison_ocl.methods.gdumb.gdumb import GDumb
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.net import Net
from bison_ocl.state import State


def name(check: Check) -> str:
    return f"{check.__module__.rpartition('.')[2]}.{check.__name__}"


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_every_method_keeps_the_contract(check: Check, method: Method) -> None:
    check(method)


def test_every_promise_is_one_line_of_its_own() -> None:
    promises = [promise(check) for check in CHECKS]
    assert all(20 < len(line) < 100 for line in promises)
    assert len(set(promises)) == len(CHECKS)


def test_confusion_of_many_equals_that_of_each(method: Method) -> None:
    test = held_out(classes=CLASSES)
    states = [me for me, _ in lockstep(method)[-1]]
    together = Engine(method, tree.vectorised).confusion(
        tree.stack(states), tree.stack([test] * len(SEEDS))
    )
    for me, confusion in zip(states, together, strict=True):
        assert torch.equal(confusion, Engine(method).confusion(me, test))


def test_rows_fill_as_the_host_counts_them(method: Method) -> None:
    if isinstance(method, GDumb):  # its policy may reject before the memory is full
        return
    for me, _ in moments(method):
        assert held(me).memory.filled == me.memory.filled


def test_no_image_of_the_stream_comes_twice() -> None:
    """Or a row could not be told by its image."""
    pictures = {x.numpy().tobytes() for task in course(0) for batch in task for x in batch.x}
    assert len(pictures) == TASKS * LENGTH * 10


def test_images_are_bytes_and_no_more_than_asked_for(method: Method) -> None:
    capacity, shape = 100, (3, 32, 32)
    memory = begin(method, capacity=capacity, shape=shape).memory
    row = 3 * 32 * 32
    assert memory.x.dtype == torch.uint8
    assert memory.capacity == (capacity if method.replays else 0)
    used = sum(part.numel() * part.element_size() for part in (memory.x, memory.y, memory.seen))
    assert used <= 1.01 * capacity * row + row


class KeepsItsBatch(ER):
    def extra(self, net: Net, classes: int) -> dict[str, Any]:
        return {"last": torch.zeros(10, dtype=torch.int64)}

    def update(self, me: State, new: Batch) -> Update:
        return replace(super().update(me, new), extra={"last": new.y})


@pytest.mark.parametrize("kind", [*map(method_class, METHODS), KeepsItsBatch])
def test_a_state_keeps_no_hold_on_a_batch(kind: type[Method]) -> None:
    for me, new in moments(kind()):
        after, loss = Engine(kind()).step(me, new)
        before = snapshot((after, loss))
        new.x.zero_()
        new.y.zero_()
        assert same(before, snapshot((after, loss)))

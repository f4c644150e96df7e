"""What a step or an evaluation is given stays as it was, and is not kept."""

from __future__ import annotations

from dataclasses import replace

import torch

from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.state import State
from tests.contract.conftest import CLASSES, moments
from tests.tiny import held_out, same, snapshot


def without_memory(me: State) -> State:
    """All but what the engine writes in place."""
    return replace(me, memory=None)  # type: ignore[arg-type]


def test_evaluation_changes_nothing(method: Method) -> None:
    engine, test = Engine(method), held_out(classes=CLASSES)
    for me, _ in moments(method):
        before, images = snapshot(me), snapshot(test)
        first = engine.confusion(me, test)
        assert same(before, snapshot(me))
        assert same(images, snapshot(test))
        assert torch.equal(first, engine.confusion(me, test))


def test_an_unseen_class_is_never_predicted(method: Method) -> None:
    engine, test = Engine(method), held_out(classes=CLASSES)
    for me, _ in moments(method)[1:]:
        scores = engine.scores(me, engine.summarise(me), test.x)
        assert (scores[:, ~me.seen] == -float("inf")).all()
        assert me.seen[scores.argmax(1)].all()
        assert not scores.isnan().any()


def test_a_step_changes_neither_its_batch_nor_its_state(method: Method) -> None:
    for me, new in moments(method):
        before, images = snapshot(without_memory(me)), snapshot(new)
        Engine(method).step(me, new)
        assert same(before, snapshot(without_memory(me)))
        assert same(images, snapshot(new))


def test_end_of_task_changes_nothing_in_place(method: Method) -> None:
    for me, _ in moments(method):
        before = snapshot(me)
        Engine(method).end_task(me)
        assert same(before, snapshot(me))


def test_a_step_keeps_no_hold_on_its_batch(method: Method) -> None:
    for me, new in moments(method):
        after, loss = Engine(method).step(me, new)
        before = snapshot((after, loss))
        new.x.zero_()
        new.y.zero_()
        assert same(before, snapshot((after, loss)))

"""Methods learn: an easy stream in one pass, and classes whose number was not known before."""

from __future__ import annotations

import torch

from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.learner.growth import grown
from bison_ocl.methods.method import Method
from bison_ocl.state import State
from tests.contract.conftest import assert_close, changes, copied
from tests.tiny import (
    CLASSES,
    Tiny,
    begin,
    held_out,
    images,
    labelled,
    same,
    snapshot,
    stream,
    train,
)

LOOKS = torch.tensor([1, 14, 4, 11])
"""which of the tiny images stand for the four classes: far apart in colour and direction"""


def easy(batch: Batch) -> Batch:
    return Batch(images(LOOKS[batch.y], seed=int(batch.x.sum())), batch.y)


def test_beats_chance_on_two_easy_tasks(method: Method) -> None:
    """Chance is 0.25 on all four classes; a method without memory is asked for the last two."""
    tasks = [[easy(batch) for batch in task] for task in stream(steps=25)]
    me = train(method, begin(method, backbone=Tiny(32)), tasks)
    confusion = Engine(method).confusion(me, easy(held_out()))
    right, shown = confusion.diagonal(), confusion.sum(1)
    asked = slice(0 if method.replays else CLASSES // 2, None)
    assert right[asked].sum() > 0.4 * shown[asked].sum()


def doubled(method: Method, me: State) -> State:
    """The same run with room for twice the classes."""
    return grown(me, begin(method, classes=2 * CLASSES, closed=False))


def test_a_grown_run_equals_one_born_large(method: Method) -> None:
    """By single steps: to grow and to take a step may be swapped, and so up to the first step."""
    engine, small = Engine(method), begin(method, closed=False)
    assert same(snapshot(doubled(method, small)), snapshot(begin(method, classes=8, closed=False)))
    for task in stream(steps=3):
        for new in task:
            large = copied(doubled(method, small))
            before = copied(large)
            small, loss = engine.step(small, new)
            large, large_loss = engine.step(large, new)
            one = changes(before, copied(doubled(method, small))) | {"loss": loss}
            assert_close(one, changes(before, large) | {"loss": large_loss})
        small = engine.end_task(small)


def test_a_grown_run_keeps_what_it_knew_and_meets_more(method: Method) -> None:
    engine, test = Engine(method), held_out()
    small = train(method, begin(method, closed=False), stream(steps=3))
    large = doubled(method, small)
    assert (large.memory.filled, large.later) == (small.memory.filled, small.later)
    scores = engine.scores(small, engine.summarise(small), test.x)
    more = engine.scores(large, engine.summarise(large), test.x)
    torch.testing.assert_close(more[:, :CLASSES], scores, rtol=1e-10, atol=1e-12)
    assert (more[:, CLASSES:] == -float("inf")).all()
    large, loss = engine.step(large, labelled(torch.arange(10) % (2 * CLASSES)))
    assert large.seen.all()
    assert loss.isfinite()

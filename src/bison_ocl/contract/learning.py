"""Methods learn an easy stream in one pass, and classes beyond the initial number."""

from __future__ import annotations

import torch

from bison_ocl.batch import Batch
from bison_ocl.contract.moments import changes, copied, demand, demand_close, demand_same
from bison_ocl.contract.world import (
    CLASSES,
    Tiny,
    begin,
    held_out,
    images,
    labelled,
    stream,
    train,
)
from bison_ocl.engine.step import Engine
from bison_ocl.learner.growth import grown
from bison_ocl.methods.method import Method
from bison_ocl.state import State

LOOKS = torch.tensor([1, 14, 4, 11])
"""the four classes among the tiny images, far apart in colour and direction"""


def easy(batch: Batch) -> Batch:
    return Batch(images(LOOKS[batch.y], seed=int(batch.x.sum())), batch.y)


def beats_chance(method: Method) -> None:
    """It beats chance on two easy tasks: 0.4 of four classes; without a memory, of the last two."""
    tasks = [[easy(batch) for batch in task] for task in stream(steps=25)]
    me = train(method, begin(method, backbone=Tiny(32)), tasks)
    confusion = Engine(method).confusion(me, easy(held_out()))
    right, shown = confusion.diagonal(), confusion.sum(1)
    asked = slice(0 if method.replays else CLASSES // 2, None)
    share = float(right[asked].sum() / shown[asked].sum())
    demand(share > 0.4, f"it classifies {share:.0%} of the test images")


def doubled(method: Method, me: State) -> State:
    """The same run with room for twice the classes."""
    return grown(me, begin(method, classes=2 * CLASSES, closed=False))


def grows(method: Method) -> None:
    """Grown heads compute the same as heads that started large."""
    engine, small = Engine(method), begin(method, closed=False)
    large = begin(method, classes=2 * CLASSES, closed=False)
    demand_same(doubled(method, small), large, "a grown state differs from one born large")
    for task in stream(steps=3):
        for new in task:
            large = copied(doubled(method, small))
            before = copied(large)
            small, loss = engine.step(small, new)
            large, large_loss = engine.step(large, new)
            one = changes(before, copied(doubled(method, small))) | {"loss": loss}
            other = changes(before, large) | {"loss": large_loss}
            demand_close(one, other, "a step after growing differs: mask losses by me.live")
        small = engine.end_task(small)


def keeps_growing(method: Method) -> None:
    """A run with grown heads predicts as before and learns more classes."""
    engine, test = Engine(method), held_out()
    small = train(method, begin(method, closed=False), stream(steps=3))
    large = doubled(method, small)
    same = (large.memory.filled, large.later) == (small.memory.filled, small.later)
    demand(same, "growing loses `filled` or `later`")
    scores = engine.scores(small, engine.summarise(small), test.x)
    more = engine.scores(large, engine.summarise(large), test.x)
    complaint = "growing changes the scores of known classes"
    torch.testing.assert_close(more[:, :CLASSES], scores, rtol=1e-10, atol=1e-12, msg=complaint)
    demand(bool((more[:, CLASSES:] == -float("inf")).all()), "an empty row is predicted")
    large, loss = engine.step(large, labelled(torch.arange(10) % (2 * CLASSES)))
    demand(bool(large.seen.all()) and bool(loss.isfinite()), "it does not learn the new classes")

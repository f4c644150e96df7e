"""The same step looped, vectorised, alone and among others, by single steps from the same state."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from tests.contract.conftest import (
    CLASSES,
    SEEDS,
    Moment,
    assert_close,
    changes,
    copied,
    course,
    lockstep,
    recorded,
)
from tests.tiny import begin, held_out, same, snapshot

Moved = dict[str, Tensor]


def looped(method: Method, runs: list[Moment]) -> list[Moved]:
    """What one step changes in each run, one after the other."""
    moved = []
    for me, new in runs:
        after, loss = Engine(method).step(copied(me), new)
        moved.append(changes(me, after) | {"loss": loss})
    return moved


def vectorised(method: Method, runs: list[Moment]) -> list[Moved]:
    """The same, all at once."""
    together, losses = Engine(method, tree.vectorised).step(*tree.stack(runs))
    return [
        changes(me, tree.pick(together, run)) | {"loss": losses[run]}
        for run, (me, _) in enumerate(runs)
    ]


def test_a_step_looped_equals_vectorised(method: Method) -> None:
    for runs in lockstep(method):
        for one, other in zip(looped(method, runs), vectorised(method, runs), strict=True):
            assert_close(other, one)


def test_end_of_task_looped_equals_vectorised(method: Method) -> None:
    for runs in lockstep(method):
        states = [me for me, _ in runs]
        together = Engine(method, tree.vectorised).end_task(tree.stack(states))
        for run, me in enumerate(states):
            alone = Engine(method).end_task(me)
            assert together.later
            assert alone.later
            assert_close(changes(me, tree.pick(together, run)), changes(me, alone))


def test_scores_looped_equal_vectorised(method: Method) -> None:
    one, many = Engine(method), Engine(method, tree.vectorised)
    test = held_out(classes=CLASSES)
    for runs in lockstep(method):
        states = [me for me, _ in runs]
        stacked, x = tree.stack(states), torch.stack([test.x] * len(SEEDS))
        together = many.scores(stacked, many.summarise(stacked), x)
        for me, scores in zip(states, together, strict=True):
            alone = one.scores(me, one.summarise(me), test.x)
            torch.testing.assert_close(scores, alone, rtol=1e-10, atol=1e-12)


def test_confusion_looped_equals_vectorised(method: Method) -> None:
    test = held_out(classes=CLASSES)
    states = [me for me, _ in lockstep(method)[-1]]
    together = Engine(method, tree.vectorised).confusion(
        tree.stack(states), tree.stack([test] * len(SEEDS))
    )
    for me, confusion in zip(states, together, strict=True):
        assert torch.equal(confusion, Engine(method).confusion(me, test))
        assert torch.equal(confusion.sum(1), torch.bincount(test.y))


def test_a_vectorised_seed_alone_equals_among_others(method: Method) -> None:
    for runs in lockstep(method):
        among = vectorised(method, runs)
        for run, moment in enumerate(runs):
            assert_close(vectorised(method, [moment])[0], among[run])


def test_a_looped_seed_alone_equals_among_others(method: Method) -> None:
    engine = Engine(method)
    states = [begin(method, seed, classes=CLASSES) for seed in SEEDS]
    streams = [course(seed)[0] for seed in SEEDS]
    for batches in zip(*streams, strict=True):
        states = [engine.step(me, new)[0] for me, new in zip(states, batches, strict=True)]
    states = [engine.end_task(me) for me in states]
    for seed, me in zip(SEEDS, states, strict=True):
        alone = recorded(method, seed)[len(streams[0])][0]
        assert same(snapshot(me), snapshot(alone))

"""Many seeds at once equal one, compared in single steps because whole runs are chaotic."""

from __future__ import annotations

import torch

from bison_ocl import tree
from bison_ocl.contract.moments import (
    CLASSES,
    SEEDS,
    Moment,
    changes,
    copied,
    course,
    demand,
    demand_close,
    demand_same,
    lockstep,
    recorded,
)
from bison_ocl.contract.world import begin, held_out
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.tree import Tensors


def looped(method: Method, runs: list[Moment]) -> list[Tensors]:
    """The changes of one step in each run, in a loop."""
    moved = []
    for me, new in runs:
        after, loss = Engine(method).step(copied(me), new)
        moved.append(changes(me, after) | {"loss": loss})
    return moved


def vectorised(method: Method, runs: list[Moment]) -> list[Tensors]:
    """The changes of one step in all runs at once, by vmap."""
    together, losses = Engine(method, tree.vectorised).step(*tree.stack(runs))
    return [
        changes(me, tree.pick(together, run)) | {"loss": losses[run]}
        for run, (me, _) in enumerate(runs)
    ]


def step_of_many(method: Method) -> None:
    """A step of many seeds at once equals the step of each."""
    for runs in lockstep(method):
        for one, other in zip(looped(method, runs), vectorised(method, runs), strict=True):
            demand_close(other, one, "vmap differs from the loop")


def end_of_task_of_many(method: Method) -> None:
    """The end of a task for many seeds at once equals that of each."""
    for runs in lockstep(method):
        states = [me for me, _ in runs]
        together = Engine(method, tree.vectorised).end_task(tree.stack(states))
        for run, me in enumerate(states):
            alone = Engine(method).end_task(me)
            demand(together.later and alone.later, "end_task loses `later`")
            ends = changes(me, tree.pick(together, run)), changes(me, alone)
            demand_close(*ends, "vmap differs from the loop")


def scores_of_many(method: Method) -> None:
    """The predictions of many seeds at once equal those of each."""
    one, many = Engine(method), Engine(method, tree.vectorised)
    test = held_out(classes=CLASSES)
    for runs in lockstep(method):
        states = [me for me, _ in runs]
        stacked, x = tree.stack(states), torch.stack([test.x] * len(SEEDS))
        together = many.scores(stacked, many.summarise(stacked), x)
        for me, scores in zip(states, together, strict=True):
            alone = one.scores(me, one.summarise(me), test.x)
            complaint = "vmap differs from the loop: scores"
            torch.testing.assert_close(scores, alone, rtol=1e-10, atol=1e-12, msg=complaint)


def seed_among_others(method: Method) -> None:
    """A seed trained together with others equals the seed alone."""
    for runs in lockstep(method):
        among = vectorised(method, runs)
        for run, moment in enumerate(runs):
            demand_close(vectorised(method, [moment])[0], among[run], "others change a seed")


def seeds_in_turn(method: Method) -> None:
    """A seed trained in turn with others equals the seed alone, bit for bit."""
    engine = Engine(method)
    states = [begin(method, seed, classes=CLASSES) for seed in SEEDS]
    streams = [course(seed)[0] for seed in SEEDS]
    for batches in zip(*streams, strict=True):
        states = [engine.step(me, new)[0] for me, new in zip(states, batches, strict=True)]
    for seed, me in zip(SEEDS, map(engine.end_task, states), strict=True):
        alone = recorded(method, seed)[len(streams[0])][0]
        demand_same(me, alone, "something is shared between runs: keep it in `extra`")

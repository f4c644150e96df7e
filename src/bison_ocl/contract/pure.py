"""Steps and evaluations do not change their inputs."""

from __future__ import annotations

import torch

from bison_ocl.contract.moments import CLASSES, demand, moments
from bison_ocl.contract.world import held_out, same, snapshot
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.state import State


def without_memory(me: State) -> dict[str, object]:
    """The parts of a state but its memory, which the engine writes in place."""
    return {name: part for name, part in vars(me).items() if name != "memory"}


def predicting(method: Method) -> None:
    """Predicting changes nothing and is repeatable."""
    engine, test = Engine(method), held_out(classes=CLASSES)
    for me, _ in moments(method):
        before, images = snapshot(me), snapshot(test)
        first = engine.scores(me, engine.summarise(me), test.x)
        demand(same(before, snapshot(me)), "predicting changes the state")
        demand(same(images, snapshot(test)), "predicting changes the images")
        again = engine.scores(me, engine.summarise(me), test.x)
        demand(torch.equal(first, again), "asked again, its scores differ")


def images_alone(method: Method) -> None:
    """The scores of an image do not depend on the images beside it."""
    engine, test = Engine(method), held_out(classes=CLASSES)
    for me, _ in moments(method):
        summary = engine.summarise(me)
        among, apart = (engine.scores(me, summary, x) for x in (test.x, test.x[::7]))
        complaint = 'the images beside it change a score: predict in mode "eval"'
        torch.testing.assert_close(among[::7], apart, rtol=1e-10, atol=1e-12, msg=complaint)


def unseen_classes(method: Method) -> None:
    """Unseen classes are never predicted, and no score is NaN."""
    engine, test = Engine(method), held_out(classes=CLASSES)
    for me, _ in moments(method)[1:]:
        scores = engine.scores(me, engine.summarise(me), test.x)
        shape, expected = list(scores.shape), [len(test), CLASSES]
        demand(shape == expected, f"scores have shape {shape}, for images and classes {expected}")
        demand(bool((scores[:, ~me.seen] == -float("inf")).all()), "an unseen class scores > −∞")
        demand(bool(me.seen[scores.argmax(1)].all()), "an unseen class is predicted")
        demand(not bool(scores.isnan().any()), "a score is NaN")


def steps_and_ends(method: Method) -> None:
    """A step and the end of a task change only the memory in place, and no hook changes it."""
    for me, new in moments(method):
        rows = snapshot(me.memory)
        Engine(method).learn(me, new)
        kept = same(rows, snapshot(me.memory))
        demand(kept, "a hook writes into the memory: return a Write from `store`")
    for me, new in moments(method):
        before, images = snapshot(without_memory(me)), snapshot(new)
        Engine(method).step(me, new)
        demand(same(before, snapshot(without_memory(me))), "a step changes its state in place")
        demand(same(images, snapshot(new)), "a step changes its batch")
    for me, _ in moments(method):
        before = snapshot(me)
        Engine(method).end_task(me)
        demand(same(before, snapshot(me)), "end_task changes its state in place")

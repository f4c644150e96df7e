"""A step with fused layers is the step with plain ones, looped and vectorised."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.contract.moments import Moment, changes, copied
from bison_ocl.engine.scoring import Turn, in_turn
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.nets.resnet import ResNet18
from tests.tiny import SHAPE, begin, held_out, stream

SEEDS = (0, 1)
PART, ROUNDING = 1e-9, 1e-13
BACKBONE = ResNet18(2, SHAPE)
"""two filters: with one alone rounding can grow beyond any bound, in plain layers too"""


@cache
def reached(method: Method, seed: int) -> Moment:
    """A state in the second task, memory full, by plain layers; and the batch it meets next."""
    first, second = stream(seed, steps=3)
    engine, me = Engine(method), begin(method, seed, backbone=BACKBONE)
    for new in first:
        me, _ = engine.step(me, new)
    me, _ = engine.step(engine.end_task(me), second[0])
    return me, second[1]


def fused(value: Any) -> Any:
    """The same state, with fused layers in every network that it holds."""
    if isinstance(value, ResNet18):
        return dataclasses.replace(value, fused=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = {f.name: fused(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return dataclasses.replace(value, **items)
    if isinstance(value, dict):
        return {name: fused(item) for name, item in value.items()}
    return tuple(map(fused, value)) if isinstance(value, tuple) else value


def assert_same_step(found: dict[str, Tensor], wanted: dict[str, Tensor]) -> None:
    """The loss, and how far leaves moved, to a part of the largest move among their like.

    What is no real number exactly. (The gradient of one scale may be a sum of numbers that cancel.)
    """
    assert list(found) == list(wanted)
    scales: dict[str, float] = {}
    for name, value in wanted.items():
        if value.is_floating_point() and value.numel():
            scales[kind(name)] = max(float(value.abs().max()), scales.get(kind(name), 0.0))
    for name, value in wanted.items():
        if value.is_floating_point() and value.numel():
            error = float((found[name] - value).abs().max())
            assert error <= PART * scales[kind(name)] + ROUNDING, name
        else:
            assert torch.equal(found[name], value), name


def kind(name: str) -> str:
    """net.params, net.stats, moments.first, extra.teacher, ..., loss"""
    return ".".join(name.split(".")[:2])


def plain_steps(method: Method) -> list[dict[str, Tensor]]:
    """What a step of each run changes, by plain layers."""
    found = []
    for seed in SEEDS:
        me, new = reached(method, seed)
        after, loss = Engine(method).step(copied(me), new)
        found.append(changes(me, after) | {"loss": loss})
    return found


def test_a_looped_step(method: Method) -> None:
    for seed, wanted in zip(SEEDS, plain_steps(method), strict=True):
        me, new = reached(method, seed)
        after, loss = Engine(method).step(fused(copied(me)), new)
        assert_same_step(changes(me, after) | {"loss": loss}, wanted)


def test_a_vectorised_step(method: Method) -> None:
    runs = [reached(method, seed) for seed in SEEDS]
    stacked, new = tree.stack([(fused(me), new) for me, new in runs])
    after, losses = Engine(method, tree.vectorised).step(stacked, new)
    for run, wanted in enumerate(plain_steps(method)):
        found = changes(runs[run][0], tree.pick(after, run)) | {"loss": losses[run]}
        assert_same_step(found, wanted)


def briefly(f: Turn, value: Any, zero: Tensor, times: int) -> Any:
    """A few turns of what a method trains when it is asked: over many, rounding grows."""
    return in_turn(f, value, zero, min(times, 3))


def test_scores(method: Method) -> None:
    engine, test = Engine(method, repeat=briefly), held_out(2)
    me, _ = reached(method, 0)
    other = fused(me)
    found = engine.scores(other, engine.summarise(other), test.x)
    wanted = engine.scores(me, engine.summarise(me), test.x)
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)


def test_a_step_keeps_the_form_of_its_state(method: Method) -> None:
    """Of a deep network too: leaves are copied into their buffers place by place."""
    me, new = reached(method, 0)
    start = begin(method, backbone=BACKBONE)
    for state in (me, fused(me)):
        after, _ = Engine(method).step(copied(state), new)
        assert list(tree.named(after)) == list(tree.named(start))

"""Short runs of a method, their intermediate states, and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeVar

import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.contract.world import begin, same, snapshot, stream
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.state import State
from bison_ocl.tree import Tensors

SEEDS = (0, 1, 2)
CLASSES, TASKS, LENGTH = 6, 3, 4
STEPS = (0, 1, 2, 3, 4, 7, 8)
"""steps to compare: memory empty, half full, full; 4 and 8 are right after a task's end"""
TOLERANCE = 1e-10
ROUNDING = 1e-14
"""of parameters near 1, which an update is the difference of"""

Moment = tuple[State, Batch]
T = TypeVar("T")


class Broken(AssertionError):
    """A violation of the contract."""


def demand(holds: bool, complaint: str) -> None:
    """Fail the check unless a condition holds."""
    if not holds:
        raise Broken(complaint)


def demand_same(one: object, other: object, complaint: str) -> None:
    """Fail the check unless two trees are equal bit for bit."""
    demand(same(snapshot(one), snapshot(other)), complaint)


def demand_close(one: Tensors, other: Tensors, complaint: str) -> None:
    """Fail the check unless floats are close, relative to the largest, and the rest is equal."""
    demand(one.keys() == other.keys(), f"{complaint}: not the same tensors")
    for name, a in one.items():
        b = other[name]
        demand((a.shape, a.dtype) == (b.shape, b.dtype), f"{complaint}: shape or type of {name}")
        if a.is_floating_point() and a.numel():
            error, scale = (a - b).abs().max(), b.abs().max()
            close = bool(error <= TOLERANCE * scale + ROUNDING)
            demand(close, f"{complaint}: {name} by {error:.1e} of {scale:.1e}")
        else:
            demand(torch.equal(a, b), f"{complaint}: {name}")


def course(seed: int) -> list[list[Batch]]:
    """The stream of one run."""
    return stream(seed, CLASSES, TASKS, LENGTH)


def walk(method: Method, seed: int, visit: Callable[[State, Batch], None]) -> State:
    """One looped run; `visit` receives each state and its next batch."""
    engine, me = Engine(method), begin(method, seed, classes=CLASSES)
    for task in course(seed):
        for new in task:
            visit(me, new)
            me, _ = engine.step(me, new)
        me = engine.end_task(me)
    return me


@cache
def recorded(method: Method, seed: int) -> list[Moment]:
    """Every state of one run, with its next batch."""
    kept: list[Moment] = []
    walk(method, seed, lambda me, new: kept.append((copied(me), new)))
    return kept


def moments(method: Method, seed: int = 0) -> list[Moment]:
    """Copies of the states at STEPS of one run, each with its next batch."""
    return [copied(recorded(method, seed)[step]) for step in STEPS]


def lockstep(method: Method) -> list[list[Moment]]:
    """The same moments of all seeds, grouped."""
    return [list(runs) for runs in zip(*(moments(method, seed) for seed in SEEDS), strict=True)]


def copied(value: T) -> T:
    """A copy of a tree, because a step writes into its memory."""
    return tree.map_leaves(torch.clone, value)


def held(me: State) -> State:
    """The state without the rows of its memory that hold no image."""
    used = int(me.memory.used.sum())  # `filled` may exceed the rows that a policy accepted
    return replace(me, memory=replace(me.memory, filled=used).in_use())


def changes(before: State, after: State) -> Tensors:
    """The change of each float in a step; the new values of integers and of the memory."""
    old, new = tree.named(before), tree.named(held(after))
    demand(old.keys() == new.keys(), "a step changes which tensors a state holds")
    return {
        name: value - old[name]
        if value.is_floating_point() and not name.startswith("memory")
        else value
        for name, value in new.items()
    }

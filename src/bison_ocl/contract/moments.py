"""Short runs of a method, states on the way, and how what comes of them compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.contract.world import begin, same, snapshot, stream
from bison_ocl.engine.step import Engine
from bison_ocl.methods.method import Method
from bison_ocl.state import State

SEEDS = (0, 1, 2)
CLASSES, TASKS, LENGTH = 6, 3, 4
STEPS = (0, 1, 2, 3, 4, 7, 8)
"""where runs are looked at: memory empty, half full, full; 4 and 8 are right after a task's end"""
TOLERANCE = 1e-10
ROUNDING = 1e-14
"""of parameters near 1, which an update is the difference of"""

Moment = tuple[State, Batch]
T = TypeVar("T")


class Broken(AssertionError):
    """What a method was found to do against the contract."""


def demand(holds: bool, otherwise: str) -> None:
    """Break the check unless something holds."""
    if not holds:
        raise Broken(otherwise)


def demand_same(one: object, other: object, otherwise: str) -> None:
    """Two trees must be equal bit for bit."""
    demand(same(snapshot(one), snapshot(other)), otherwise)


def demand_close(
    one: dict[str, Tensor], other: dict[str, Tensor], otherwise: str = "they differ"
) -> None:
    """Real numbers by the largest difference relative to the largest; all else exactly."""
    demand(one.keys() == other.keys(), f"{otherwise}: not the same tensors")
    for name, a in one.items():
        b = other[name]
        demand((a.shape, a.dtype) == (b.shape, b.dtype), f"{otherwise}: shape or type of {name}")
        if a.is_floating_point() and a.numel():
            error, scale = (a - b).abs().max(), b.abs().max()
            close = bool(error <= TOLERANCE * scale + ROUNDING)
            demand(close, f"{otherwise}: {name} by {error:.1e} of {scale:.1e}")
        else:
            demand(torch.equal(a, b), f"{otherwise}: {name}")


def course(seed: int) -> list[list[Batch]]:
    """The stream of one run."""
    return stream(seed, CLASSES, TASKS, LENGTH)


def walk(method: Method, seed: int, visit: Callable[[State, Batch], None]) -> State:
    """One looped run; `visit` sees each state and the batch it meets next."""
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
    """States at STEPS of one run, the caller's own, each with its next batch."""
    return [copied(recorded(method, seed)[step]) for step in STEPS]


def lockstep(method: Method) -> list[list[Moment]]:
    """The same moments of all seeds, side by side."""
    return [list(runs) for runs in zip(*(moments(method, seed) for seed in SEEDS), strict=True)]


def copied(value: T) -> T:
    """The tree on tensors of its own, since a step writes into the memory it is given."""
    return tree.map_leaves(torch.clone, value)


def held(me: State) -> State:
    """The state without the rows of its memory that hold no image."""
    used = int(me.memory.used.sum())  # `filled` may promise more than a policy has taken
    return replace(me, memory=replace(me.memory, filled=used).in_use())


def changes(before: State, after: State) -> dict[str, Tensor]:
    """How far a step moved each number; what is no real number, and the memory, as it is now."""
    old, new = tree.named(before), tree.named(held(after))
    demand(old.keys() == new.keys(), "a step changes which tensors a state holds")
    return {
        name: value - old[name]
        if value.is_floating_point() and not name.startswith("memory")
        else value
        for name, value in new.items()
    }

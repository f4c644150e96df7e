"""One step from the same state by each execution: looped, vectorised, captured. Needs a GPU.

Free-running trajectories are chaotic and prove nothing; single steps from many states do.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.capture import Captured
from bison_ocl.engine.step import Engine
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from tests.tiny import stream

SEEDS = 5
STEPS = 5
"""of each of the two tasks of tests.tiny.stream: 5 seeds at 10 steps are 50 states"""
SHAPE = (3, 8, 8)


@dataclass(frozen=True)
class Apart:
    """The largest difference to the loop: of losses, and of updates relative to their size."""

    loss: float
    update: float
    numbers: bool
    """whether counters, tables and the memory's rows are equal"""


def on_gpu(batch: Batch) -> Batch:
    return tree.map_leaves(lambda leaf: leaf.cuda(), batch)


def copied(me: State) -> State:
    return tree.map_leaves(torch.clone, me)


def differences(name: str, dtype: torch.dtype) -> dict[str, Apart]:
    """How far vectorised and captured steps are from the loop, over all states."""
    method = configured(name, "split-digits", {})
    backbone = ResNet18(4, SHAPE, "fp32", fused=True)
    states = [
        first_state(method, seed, backbone, 4, 20, SHAPE, dtype=dtype, device="cuda")
        for seed in range(SEEDS)
    ]
    loop, vectorised = Engine(method), Engine(method, tree.vectorised)
    captured = Captured(vectorised, tree.stack(states))
    found: dict[str, list[Apart]] = {"vectorised": [], "captured": []}
    for task in zip(*(stream(seed) for seed in range(SEEDS)), strict=True):
        for batches in list(zip(*task, strict=True))[:STEPS]:
            new = [on_gpu(batch) for batch in batches]
            before = copied(captured.me)
            alone = [loop.step(tree.pick(before, i), new[i]) for i in range(SEEDS)]
            wanted = tree.stack([me for me, _ in alone]), torch.stack([loss for _, loss in alone])
            at_once = vectorised.step(copied(before), tree.stack(new))
            found["vectorised"].append(apart(at_once, wanted, before))
            loss = captured.step(tree.stack(new)).clone()
            found["captured"].append(apart((captured.me, loss), wanted, before))
        captured.end_task()
    assert len(captured.graphs) == 2
    return {how: worst(steps) for how, steps in found.items()}


def apart(found: tuple[State, Tensor], wanted: tuple[State, Tensor], before: State) -> Apart:
    (me, loss), (right, right_loss) = found, wanted
    a, b, c = (tree.named(state) for state in (me, right, before))
    updates = [
        float((a[name] - b[name]).norm() / (b[name] - c[name]).norm().clamp(min=1e-9))
        for name in a
        if a[name].is_floating_point() and not name.startswith("memory")
    ]
    loss_apart = ((loss - right_loss).abs() / right_loss.abs().clamp(min=1)).max()
    return Apart(float(loss_apart), max(updates), same_numbers(me, right))


def same_numbers(found: State, wanted: State) -> bool:
    """Whether counters, table and the rows in use of the memory are equal."""
    rows, memory = found.memory.capacity, wanted.memory
    pairs = [
        (found.table, wanted.table),
        (found.step, wanted.step),
        (found.memory.seen, memory.seen),
        (found.memory.y[..., :rows], memory.y[..., :rows]),
        (found.memory.x[..., :rows, :, :, :], memory.x[..., :rows, :, :, :]),
    ]
    return found.memory.filled == memory.filled and all(torch.equal(a, b) for a, b in pairs)


def worst(steps: list[Apart]) -> Apart:
    return Apart(
        max(step.loss for step in steps),
        max(step.update for step in steps),
        all(step.numbers for step in steps),
    )

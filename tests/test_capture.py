"""A replayed CUDA graph does what the engine's step does. Needs a GPU."""

from __future__ import annotations

import pytest
import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine import Engine
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from tests.tiny import stream

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]


def on_gpu(batch: Batch) -> Batch:
    return tree.map_leaves(lambda leaf: leaf.cuda(), batch)


def differences(found: State, wanted: State, before: State) -> dict[str, float]:
    """How far two steps from one state are apart, relative to how far they moved."""
    pairs = zip(tree.named(found).items(), tree.leaves(wanted), tree.leaves(before), strict=True)
    return {
        name: float((a - b).norm() / (b - c).norm().clamp(min=1e-9))
        for (name, a), b, c in pairs
        if a.is_floating_point() and not name.startswith("memory")
    }


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


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_captured_steps_equal_eager_ones_from_the_same_state(name: str, seeds: int) -> None:
    from bison_ocl.capture import Captured

    method = configured(name, "split-digits", {})
    shape, backbone = (3, 8, 8), ResNet18(4, (3, 8, 8))
    states = [
        method.init(seed, backbone, 4, 20, shape, dtype=torch.float64, device="cuda")
        for seed in range(seeds)
    ]
    engine = Engine(method) if seeds == 1 else Engine(method, tree.vectorised)
    captured = Captured(engine, states[0] if seeds == 1 else tree.stack(states))
    for task in zip(*(stream(seed) for seed in range(seeds)), strict=True):
        for batches in zip(*task, strict=True):
            new = on_gpu(batches[0]) if seeds == 1 else tree.stack([on_gpu(b) for b in batches])
            before = tree.map_leaves(torch.clone, captured.me)
            wanted, loss = engine.step(tree.map_leaves(torch.clone, before), new)
            assert torch.allclose(captured.step(new), loss, rtol=1e-9)
            apart = differences(captured.me, wanted, before)
            assert max(apart.values()) < 1e-9, max(apart, key=lambda leaf: apart[leaf])
            assert same_numbers(captured.me, wanted)
        captured.end_task()
    assert len(captured.graphs) == 2

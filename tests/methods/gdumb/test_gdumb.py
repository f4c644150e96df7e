"""GDumb stores while images arrive and trains when it is asked to predict."""

import math
from typing import Any

import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.methods.gdumb.gdumb import GDumb, clipped
from bison_ocl.state import State
from tests.tiny import begin, same, snapshot, stream, train


def test_nothing_is_learned_while_images_arrive() -> None:
    method = GDumb(epochs=2)
    start = begin(method)
    end = train(method, start, stream(steps=4))
    assert same(snapshot(start.net), snapshot(end.net))
    assert int(end.memory.seen) == 20


def test_a_refit_starts_anew_and_is_a_function_of_the_state() -> None:
    method = GDumb(epochs=3)
    me = train(method, begin(method), stream(steps=4))
    engine = Engine(method)
    assert method.fits(me) == 3 * 2
    once = snapshot(engine.summarise(me))
    assert same(once, snapshot(engine.summarise(me)))
    assert not same(once, snapshot(method.summarise(me)))


def test_every_epoch_sees_each_row_once_in_another_order() -> None:
    seen: list[list[int]] = []

    class Watched(GDumb):
        def view(self, me: State, *batches: Batch, name: str = "view") -> list[Batch]:
            seen.append(sums(batches[0].x))
            return super().view(me, *batches, name=name)

    method = Watched(epochs=2, buffer_batch=5)
    me = train(method, begin(method), stream(steps=2))
    Engine(method).summarise(me)
    rows = sorted(sums(me.memory.x[:20]))
    half = len(seen) // 2
    for epoch in (seen[:half], seen[half:]):
        assert sorted(value for batch in epoch for value in batch) == rows
    assert seen[:half] != seen[half:]


def sums(x: Any) -> list[int]:
    found: list[int] = x.flatten(1).long().sum(1).tolist()
    return found


def test_clipping_is_by_the_global_norm() -> None:
    grads = {"a": {"x": torch.tensor([3.0, 0.0])}, "b": {"y": torch.tensor([[4.0]])}}
    norm = math.sqrt(sum(float(leaf.square().sum()) for leaf in tree.leaves(clipped(grads, 1.0))))
    assert math.isclose(norm, 1.0, rel_tol=1e-5)
    assert torch.equal(clipped(grads, 10.0)["b"]["y"], torch.tensor([[4.0]]))

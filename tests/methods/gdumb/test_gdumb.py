"""GDumb stores while images arrive and trains when it is asked to predict."""

import math
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.methods.gdumb.gdumb import GDumb, clipped
from bison_ocl.nets.net import Net
from bison_ocl.rng import uniform
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


def by_hand(method: GDumb, me: State) -> tuple[Net, list[float]]:
    """The training before an evaluation, and the norm of each gradient before it is clipped.

    Draws are those of the step and of a turn or epoch beside it, so no two evaluations share them.
    """
    net, rows, norms = me.net.design.born(me.key("fresh network"), 4, me.net.dtype), 20, []

    def at(turn: int) -> State:
        return replace(me, step=me.step * 2**32 + turn)

    for epoch in range(method.epochs):
        order = uniform(at(epoch).key("epoch"), (rows,)).argsort().tolist()
        for batch in range(rows // method.buffer_batch):
            slots = order[batch * method.buffer_batch :][: method.buffer_batch]
            turn = epoch * (rows // method.buffer_batch) + batch
            (seen,) = method.view(at(turn), me.memory.rows(torch.tensor(slots)))
            assert len(seen) == 2 * method.buffer_batch

            def loss(net: Net, seen: Batch = seen) -> torch.Tensor:
                return F.cross_entropy(net(seen.x, "linear"), seen.y)

            _, grads = net.grad(loss)
            norms.append(math.sqrt(sum(leaf.square().sum().item() for leaf in tree.leaves(grads))))
            net = net.step(grads, method.lr * min(1, method.clip / (norms[-1] + 1e-6)))
    return net, norms


def test_the_training_equals_a_plain_loop() -> None:
    """Two rows of each epoch are left over, and some gradients are clipped, but not all."""
    method = GDumb(epochs=3, buffer_batch=6, lr=0.1, clip=1.0)
    me = train(method, begin(method), stream(steps=4))
    expected, norms = by_hand(method, me)
    assert min(norms) < method.clip < max(norms)
    found, wanted = tree.named(Engine(method).summarise(me)), tree.named(expected)
    for name, value in wanted.items():
        torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-12)


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

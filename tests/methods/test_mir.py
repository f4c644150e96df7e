"""MIR: a step against its definition, what it replays, and its variants."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, to_float
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.methods.er import ER
from bison_ocl.methods.method import Method
from bison_ocl.methods.mir import MIR
from bison_ocl.nets.net import Net
from bison_ocl.state import State
from tests.tiny import begin, same, snapshot, stream

PLAIN = MIR()
SOME = MIR(subsample=7, buffer_batch=3)
COPY = MIR(subsample=7, buffer_batch=3, mir_bn_side_effect=False)
PAST = MIR(subsample=15, buffer_batch=4, exclude_current_task=True)


def after(steps: int, method: Method = PLAIN, capacity: int = 20) -> tuple[State, Batch]:
    """A run after some steps, six to a task, and its next batch."""
    engine, me = Engine(method), begin(method, capacity=capacity)
    batches = [new for task in stream() for new in task]
    for i, new in enumerate(batches[:steps]):
        me = engine.end_task(me) if i == 6 else me
        me, _ = engine.step(me, new)
    return (engine.end_task(me) if steps == 6 else me), batches[steps]


def each_loss(net: Net, x: Tensor, y: Tensor) -> list[float]:
    logits = net(to_float(x, torch.float64), "linear", "batch")
    return [F.cross_entropy(logits[i], y[i]).item() for i in range(len(y))]


def by_hand(method: MIR, me: State, new: Batch) -> tuple[Net, Batch]:
    """The method one line after the other: the network after them, and what is replayed."""
    me = replace(me.meet(new.y), net=me.net.copy())
    _, g = me.grad(method.stream_loss, *method.view(me, new))
    slots = method_draw(method, me)
    x, y = me.memory.x[slots], me.memory.y[slots]
    ahead = me.net.copy().step(g, method.lr)
    before, then = each_loss(me.net, x, y), each_loss(ahead, x, y)
    if method.mir_bn_side_effect:
        me.net.features(to_float(x, torch.float64), "train")
    harm = {i: then[i] - before[i] for i in range(len(y))}
    best = sorted(harm, key=lambda i: -harm[i])[: method.buffer_batch]
    old = Batch(x[best], y[best])
    _, h = me.grad(method.stream_loss, *method.view(me, old, name="replay view"))
    return me.net.step(g, method.lr).step(h, method.lr), old


def method_draw(method: MIR, me: State) -> Tensor:
    return me.memory.draw(me.key("retrieve"), min(method.subsample, me.memory.filled))


@pytest.mark.parametrize("method", [PLAIN, SOME, COPY])
@pytest.mark.parametrize("steps", [1, 3, 6, 8])
def test_a_step_is_its_definition(method: MIR, steps: int) -> None:
    me, new = after(steps, method)
    expected, _ = by_hand(method, me, new)
    ahead, _ = Engine(method).step(me, new)
    for name, value in tree.named(expected).items():
        torch.testing.assert_close(tree.named(ahead.net)[name], value, rtol=1e-9, atol=1e-12)


def test_the_first_step_trains_on_the_stream_alone() -> None:
    one, other = (Engine(m).step(begin(m), stream()[0][0])[0] for m in (PLAIN, ER()))
    assert same(snapshot(one.net), snapshot(other.net))


def test_scoring_on_a_copy_moves_no_statistics() -> None:
    me, new = after(3)
    with_trace, without = (Engine(m).step(clone(me), new)[0].net for m in (SOME, COPY))
    assert not same(snapshot(with_trace.stats), snapshot(without.stats))
    assert same(snapshot(with_trace.params), snapshot(without.params))


def clone(me: State) -> State:
    """A step writes the memory in place: work on a copy."""
    return tree.map_leaves(torch.clone, me)


def test_views_of_stream_and_replay_have_draws_of_their_own() -> None:
    me, new = after(3)
    (one,), (other,) = PLAIN.view(me, new), PLAIN.view(me, new, name="replay view")
    assert torch.equal(one.x[:10], other.x[:10])
    assert not torch.equal(one.x[10:], other.x[10:])


class Watched(MIR):
    """Notes the labels of every batch it learns from."""

    seen: list[list[int]]

    def view(self, me: State, *batches: Batch, name: str = "view") -> list[Batch]:
        self.seen.append(batches[0].y.tolist())
        return super().view(me, *batches, name=name)


def watched(method: MIR) -> Watched:
    found = Watched(**vars(method))
    object.__setattr__(found, "seen", [])
    return found


def test_what_is_replayed_is_what_the_step_hurts_most() -> None:
    me, new = after(8, SOME)
    _, old = by_hand(SOME, me, new)
    method = watched(SOME)
    Engine(method).step(me, new)
    assert method.seen == [new.y.tolist(), old.y.tolist()]


def test_classes_of_the_current_task_can_be_left_out() -> None:
    me, new = after(3, PAST)
    method = watched(PAST)
    Engine(method).step(me, new)
    assert method.seen == [new.y.tolist()]  # no replay in the first task
    for steps in (6, 9):
        me, new = after(steps, PAST)
        method = watched(PAST)
        Engine(method).step(clone(me), new)
        assert len(method.seen[1]) == 4
        assert set(method.seen[1]) <= {0, 1}
        assert steps == 6 or {2, 3} & set(me.memory.y[:20].tolist())


def test_a_small_memory_is_replayed_whole() -> None:
    me, new = after(1, PLAIN)
    _, old = by_hand(PLAIN, me, new)
    assert sorted(old.y.tolist()) == sorted(me.memory.y[:10].tolist())


def test_a_joint_pass_is_refused() -> None:
    with pytest.raises(UserError, match="joint"):
        MIR(joint=True)

"""GSS: what enters its memory and with which score, by loops with one backward pass each."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, to_float
from bison_ocl.engine.step import Engine
from bison_ocl.memory.memory import Write
from bison_ocl.methods.er import ER
from bison_ocl.methods.gss.diverse_gradients import victims
from bison_ocl.methods.gss.gss import GSS
from bison_ocl.rng import uniform
from bison_ocl.state import State
from tests.tiny import begin, same, snapshot, stream

METHOD = GSS()
SMALL = GSS(gss_batches=3, gss_batch_size=4)


@cache
def walked(method: GSS, capacity: int) -> list[tuple[State, Batch]]:
    """Every state of a run, with the batch it meets next."""
    me, found = begin(method, capacity=capacity), []
    for task in stream(steps=15):
        for new in task:
            found.append((tree.map_leaves(torch.clone, me), new))
            me, _ = Engine(method).step(me, new)
        me = Engine(method).end_task(me)
    return found


def gradient(me: State, x: Tensor, y: Tensor) -> Tensor:
    """One plain backward pass in eval mode, flattened."""
    x = to_float(x, torch.float64)
    _, grads = me.net.grad(lambda net: F.cross_entropy(net(x, "linear", "eval"), y))
    return torch.cat([leaf.flatten() for leaf in tree.leaves(grads)])


def closest(g: Tensor, others: list[Tensor]) -> float:
    return max((g @ o / (g.norm() * o.norm()).clamp(min=1e-8)).item() for o in others)


def by_hand(method: GSS, me: State, new: Batch) -> tuple[list[int], list[float], bool]:
    """The update: slots, scores, and whether the batch was let in at all."""
    memory, items = me.memory, len(new)
    fill = [min(memory.filled + i, memory.capacity) for i in range(items)]
    if memory.filled == 0:
        return fill, [0.1] * items, True
    size = min(method.gss_batch_size, memory.filled)
    count = min(method.gss_batches, memory.filled // size)
    drawn = memory.draw(me.key("reference"), count * size)
    groups = [drawn[k * size : (k + 1) * size] for k in range(count)]
    others = [gradient(me, memory.x[group], memory.y[group]) for group in groups]
    scores = [
        closest(gradient(me, new.x[i : i + 1], new.y[i : i + 1]), others) for i in range(items)
    ]
    if memory.filled < memory.capacity:
        return fill, scores, True
    if closest(gradient(me, new.x, new.y), others) >= 0:
        return [memory.capacity] * items, scores, False
    held = memory.fields["score"][: memory.capacity]
    n = min(items, memory.capacity)
    chosen = victims(me.key("store").named("victims"), held, n).tolist()
    chances = uniform(me.key("store").named("exchange"), (n,)).tolist()
    slots = [memory.capacity] * items
    for i in range(n):
        old, fresh = (held[chosen[i]].item() + 1) / 2, (scores[i] + 1) / 2
        if chances[i] < old / (old + fresh):
            slots[i] = chosen[i]
    return slots, scores, True


def stored(method: GSS, me: State, new: Batch) -> Write:
    return method.store(replace(me.meet(new.y), net=me.net.copy()), new)


@pytest.mark.parametrize(
    ("method", "capacity"), [(METHOD, 20), (METHOD, 25), (SMALL, 14), (METHOD, 6)]
)
def test_the_memory_follows_the_rule(method: GSS, capacity: int) -> None:
    let_in = []
    for me, new in walked(method, capacity)[::3]:
        slots, scores, useful = by_hand(method, me, new)
        write = stored(method, me, new)
        assert write.slots.tolist() == slots
        torch.testing.assert_close(
            write.fields["score"], torch.tensor(scores, dtype=torch.float64), rtol=1e-9, atol=1e-12
        )
        let_in += [useful] if me.memory.filled == capacity else []
    assert False in let_in or capacity < 20


def test_some_full_memory_exchanges_rows() -> None:
    """Otherwise the test above would only see batches turned away."""
    writes = [stored(METHOD, *moment) for moment in walked(METHOD, 20)[2:]]
    assert any((write.slots < 20).any() for write in writes)


def test_the_first_items_score_a_tenth() -> None:
    me, new = walked(METHOD, 20)[0]
    after, _ = Engine(METHOD).step(me, new)
    assert after.memory.fields["score"][:10].tolist() == [0.1] * 10
    assert torch.equal(after.memory.x[:10], new.x)


def test_scores_are_cosines_and_stay_with_their_rows() -> None:
    me, new = walked(METHOD, 20)[1]
    write = stored(METHOD, Engine(METHOD).step(me, new)[0], new)
    assert (write.fields["score"].abs() <= 1 + 1e-12).all()
    for me, _ in walked(METHOD, 20)[2:]:
        assert me.memory.fields["score"][:20].isfinite().all()


def test_scoring_moves_nothing() -> None:
    me, new = walked(METHOD, 20)[5]
    me = me.meet(new.y)
    before = snapshot(me)
    METHOD.store(me, new)
    assert same(before, snapshot(me))


def test_learning_is_experience_replay() -> None:
    me, new = walked(METHOD, 20)[4]
    one, other = (method.update(replace(me, net=me.net.copy()), new) for method in (METHOD, ER()))
    assert same(snapshot(one.grads), snapshot(other.grads))


def test_the_score_follows_the_network_after_its_step() -> None:
    me, new = walked(METHOD, 25)[1]
    after, _ = Engine(METHOD).step(tree.map_leaves(torch.clone, me), new)
    moved = replace(me.meet(new.y), net=after.net)
    _, scores, _ = by_hand(METHOD, moved, new)
    assert after.memory.fields["score"][10:20].tolist() == pytest.approx(scores, rel=1e-9)

"""ASER: its loss, and both choices against plain loops over its rules."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.batch import Batch, to_float
from bison_ocl.engine.step import Engine
from bison_ocl.memory.memory import Write
from bison_ocl.memory.reservoir import reservoir
from bison_ocl.methods.aser.aser import ASER, minority
from bison_ocl.methods.aser.class_balanced import at_random, class_balanced
from bison_ocl.methods.aser.shapley import Points
from bison_ocl.methods.er import ER
from bison_ocl.methods.settings import configured
from bison_ocl.rng import permutation, uniform
from bison_ocl.state import State
from tests.methods.aser.test_shapley import by_recursion
from tests.tiny import begin, labelled, same, snapshot, stream, train

NEW = labelled(torch.tensor([2, 3, 3, 2, 0]), 1)
CAPACITY = 60


def method(**settings: int) -> ASER:
    return ASER(samples=3, **settings)


def after(tasks: int = 2, capacity: int = CAPACITY, closed: bool = True, **settings: int) -> State:
    """A run of two classes a task, its memory full, about to meet NEW."""
    aser = method(**settings)
    me = begin(aser, capacity=capacity, closed=closed)
    return train(aser, me, stream(steps=10)[:tasks]).meet(NEW.y)


def features(me: State, x: Tensor) -> Tensor:
    return me.net.features(to_float(x, torch.float64), "eval")


def mean(rows: list[list[float]]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def values(me: State, evaluation: Batch, candidates: Batch, k: int = 3) -> list[list[float]]:
    """Shapley values by the recursion, a row for each evaluation image."""
    points = Points(features(me, candidates.x), candidates.y, candidates.y >= 0)
    return [
        by_recursion(z, y, points, k)
        for z, y in zip(features(me, evaluation.x), evaluation.y.tolist(), strict=True)
    ]


def balanced(me: State, name: str, allowed: Tensor) -> Tensor:
    y = me.memory.y[: me.memory.capacity]
    draw = class_balanced(me.key(name), y, allowed, me.classes, 3, torch.tensor(3))
    return draw.slots[draw.valid]


def best_first(values: list[float]) -> list[int]:
    return sorted(range(len(values)), key=lambda i: -round(values[i], 9))


def test_the_loss_is_one_mean_over_one_pass() -> None:
    me = begin(ASER())
    old = labelled(torch.tensor([0, 1, 0]), 2)
    new, old = (Batch(to_float(batch.x, torch.float64), batch.y) for batch in (NEW, old))
    both = torch.cat([new.x, old.x]), torch.cat([new.y, old.y])
    expected = F.cross_entropy(me.net(both[0], "linear", "batch"), both[1])
    torch.testing.assert_close(ASER().loss(me, new, old), expected)
    apart = torch.cat([me.net(batch.x, "linear", "batch") for batch in (new, old)])
    loss = ASER(joint=False).loss(me, new, old)
    torch.testing.assert_close(loss, F.cross_entropy(apart, both[1]))


def test_the_first_step_trains_on_the_stream_alone() -> None:
    me = begin(ASER()).meet(NEW.y)
    assert ASER().retrieve(me, NEW) is None
    update, plain = ASER().update(me, NEW), ER().update(begin(ER()).meet(NEW.y), NEW)
    assert same(snapshot((update.loss, update.grads)), snapshot((plain.loss, plain.grads)))


def test_until_the_memory_is_full_it_is_random_replay() -> None:
    me = train(method(), begin(method(), capacity=CAPACITY), stream(steps=2))
    assert me.memory.filled == 40
    old, plain = method().retrieve(me, NEW), ER().retrieve(me, NEW)
    assert old is not None
    assert plain is not None
    assert same(snapshot(old), snapshot(plain))
    write = method().store(me, NEW)
    assert write is not None
    assert write.slots.tolist() == [40, 41, 42, 43, 44]
    assert same(snapshot(write), snapshot(reservoir(me.key("store"), me.memory, 5)))


def test_retrieval_equals_a_plain_loop() -> None:
    me = after()
    rows = me.memory.rows
    candidates = balanced(me, "candidates", me.memory.used)
    others = me.memory.used.clone()
    others[candidates] = False
    cooperative = balanced(me, "cooperative", others)
    assert not set(candidates.tolist()) & set(cooperative.tolist())
    assert len(candidates) == 12
    kind = mean(values(me, rows(cooperative), rows(candidates)))
    hostile = mean(values(me, NEW, rows(candidates)))
    score = [a - b for a, b in zip(kind, hostile, strict=True)]
    assert len({round(value, 9) for value in score}) > 2
    turn = permutation(me.key("retrieve"), CAPACITY).tolist()  # the order of equal values
    slots = candidates.tolist()
    ranked = sorted(range(12), key=lambda i: (-round(score[i], 9), turn.index(slots[i])))
    old = method().retrieve(me, NEW)
    assert old is not None
    assert same(snapshot(old), snapshot(rows(candidates[ranked[:10]])))


def naive_store(me: State) -> list[int]:
    """The update of a full memory, item by item."""
    capacity, classes = me.memory.capacity, int(me.live.sum())
    sample = balanced(me, "evaluation", me.memory.used)
    free = me.memory.used.clone()
    free[sample] = False
    draw = at_random(me.key("exchange"), free, 3 * classes, torch.tensor(3 * classes))
    held = draw.slots[draw.valid]
    r = float(uniform(me.key("threshold"), ())) / classes
    labels = me.memory.y[:capacity].tolist()
    few = [i for i, y in enumerate(NEW.y.tolist()) if labels.count(y) / capacity < r]
    evaluation = me.memory.rows(sample) + NEW[torch.tensor(few, dtype=torch.int64)]
    matrix = values(me, evaluation, me.memory.rows(held) + NEW)
    order = best_first([sum(column) for column in zip(*matrix, strict=True)])
    n = len(held)
    enters = [i - n for i in order[:n] if i >= n]
    leaves = [int(held[i]) for i in order[n:] if i < n]
    slots = dict(zip(enters, leaves, strict=True))
    return [slots.get(i, capacity) for i in range(len(NEW))]


@pytest.mark.parametrize("tasks", [1, 2])
@pytest.mark.parametrize("closed", [True, False])
def test_update_equals_a_plain_loop(tasks: int, closed: bool) -> None:
    """After one task, labels 2 and 3 of NEW are not in the memory: always a minority."""
    me, entered = after(tasks, closed=closed), 0
    for step in range(8):
        me = replace(me, step=me.step + step)
        write = method().store(me, NEW)
        assert isinstance(write, Write)
        assert write.slots.tolist() == naive_store(me)
        assert write.seen == me.memory.seen + 5
        entered += sum(write.slots != CAPACITY)
    assert entered > 0


def test_a_minority_has_less_of_the_memory_than_a_random_share() -> None:
    me = begin(ASER(), capacity=10)
    me.memory.y[:10] = torch.tensor([0, 0, 0, 0, 0, 0, 0, 1, 1, 3])
    me = replace(me, memory=replace(me.memory, seen=torch.tensor(10)))
    y, counts = torch.tensor([0, 1, 2, 3]), torch.zeros(4)
    for _ in range(600):
        me = replace(me, step=me.step + 1)
        counts += minority(me, y, torch.tensor(0.25))
    assert counts[0] == 0
    assert counts[2] == 600
    assert counts[[1, 3]].tolist() == pytest.approx([120, 360], abs=45)


def test_choosing_moves_no_statistics() -> None:
    me = after()
    before = snapshot(me)
    assert method().retrieve(me, NEW) is not None
    write = method().store(me, NEW)
    assert write is not None
    assert not write.slots.requires_grad
    assert same(before, snapshot(me))


def test_new_classes_enter_a_full_memory_and_old_ones_stay() -> None:
    for capacity in (20, CAPACITY):  # a small memory is not all taken by evaluation
        me = train(ASER(), begin(ASER(), capacity=capacity), stream(steps=10))
        counts = [me.memory.y[:capacity].tolist().count(c) for c in range(4)]
        assert min(counts) > 0


def test_a_small_memory_of_equal_classes_still_exchanges_rows() -> None:
    """Evaluation takes three of the five rows of each class: all of them would leave none."""
    me, entered = after(capacity=20), 0
    me.memory.y[:20] = torch.arange(20) % 4
    for step in range(20):
        write = ASER().store(replace(me, step=me.step + step), NEW)
        assert write is not None
        entered += int((write.slots < 20).sum())
    assert entered > 0


def test_few_candidates_are_made_up_with_other_rows() -> None:
    aser = ASER(samples=1)
    me = train(aser, begin(aser, capacity=20), stream(steps=3)[:1])
    old = aser.retrieve(me, NEW)
    assert old is not None
    assert len(old) == 10
    assert len({x.numpy().tobytes() for x in old.x}) == 10


@pytest.mark.parametrize("capacity", [0, 1, 3, 15])
def test_odd_capacities(capacity: int) -> None:
    me = train(ASER(), begin(ASER(), capacity=capacity), stream(steps=3))
    assert me.memory.filled == capacity
    assert me.memory.full == (capacity > 0)
    old = ASER().retrieve(me, NEW)
    assert (0 if old is None else len(old)) == min(capacity, 10)


def test_the_draws_of_a_step_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    me, names = after(), []
    key = State.key
    monkeypatch.setattr(State, "key", lambda me, name: names.append(name) or key(me, name))
    Engine(method()).step(me, NEW)
    assert len(names) == len(set(names)) == 7


def test_presets() -> None:
    data = ("digits", "cifar10", "cifar100", "miniimagenet", "tinyimagenet")
    found = [configured("aser", f"split-{name}", {}) for name in data]
    assert [(aser.samples, aser.neighbours) for aser in found] == [  # type: ignore[attr-defined]
        (9, 3),
        (9, 3),
        (2, 3),
        (3, 3),
        (2, 3),
    ]

"""SS-IL: its loss against naive loops over tasks, its teacher, its variants."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.contract.executions import step_of_many
from bison_ocl.engine.step import Engine
from bison_ocl.methods.ssil import SSIL, rows_of_old_classes
from bison_ocl.state import State
from tests.tiny import begin, labelled, same, snapshot, stream, train

Variant = Literal["official", "online", "trick"]
TASKS = torch.tensor([1, 0, 2, 0, 1, -1])
"""the task of each of six classes, in no order; the last is unseen"""
NEW, OLD = labelled(torch.tensor([2, 2, 2]), 1), labelled(torch.tensor([0, 1, 3, 4, 2]), 2)


def third_task(method: SSIL) -> State:
    """A state in its third task, whose teacher knows other things than it does."""
    me, teacher = begin(method, classes=6), begin(method, seed=1, classes=6).net
    teacher.features(OLD.x.double())
    extra = {} if method.variant == "trick" else {"teacher": teacher}
    return replace(me, table=TASKS, task=me.task + 2, later=True, extra=extra)


def separated(logits: Tensor, y: Tensor) -> list[Tensor]:
    """−log softmax of each image inside the old or the new classes."""
    sides = [[0, 1, 3, 4], [2]]
    return [
        row[side].logsumexp(0) - row[label]
        for row, label in zip(logits, y.tolist(), strict=True)
        for side in sides
        if label in side
    ]


def distilled(student: Tensor, teacher: Tensor) -> Tensor:
    """Σ_τ KL inside the two old tasks, at temperature 2."""
    total = torch.zeros((), dtype=torch.float64)
    for task in ([1, 3], [0, 4]):
        s, t = student[:, task] / 2, teacher[:, task] / 2
        total = total + F.kl_div(s.log_softmax(1), t.softmax(1), reduction="batchmean")
    return total


def logits(me: State, *batches: Batch) -> tuple[list[Tensor], list[Tensor]]:
    student = [me.net(batch.x, "linear", "batch") for batch in batches]
    teacher = me.extra.get("teacher", me.net)
    return student, [teacher(batch.x, "linear", "eval") for batch in batches]


def mean(values: list[Tensor]) -> Tensor:
    return torch.stack(values).mean()


def by_hand(me: State, variant: Variant, new: Batch, old: Batch) -> Tensor:
    (s_new, s_old), (t_new, t_old) = logits(me, new, old)
    stream, replay = separated(s_new, new.y), separated(s_old, old.y)
    if variant == "official":
        kd = distilled(torch.cat([s_new, s_old]), torch.cat([t_new, t_old]))
        return mean(stream + replay) + 4 * kd
    return mean(stream) + mean(replay) + (distilled(s_old, t_old) if variant == "online" else 0)


@pytest.mark.parametrize("variant", ["official", "online", "trick"])
@pytest.mark.parametrize("closed", [True, False])
def test_the_loss_equals_naive_loops_over_tasks(variant: Variant, closed: bool) -> None:
    method = SSIL(variant=variant)
    me = replace(third_task(method), closed=closed)
    new, old = method.view(me, NEW, OLD)
    torch.testing.assert_close(method.loss(me, new, old), by_hand(me, variant, new, old))


def test_old_and_new_classes_are_never_compared() -> None:
    """Without its teacher, an image of an old class moves no row of a new one."""
    method = SSIL(variant="trick")
    me = third_task(method)
    (old,) = method.view(me, OLD[:4])
    _, grads = me.grad(method.stream_loss, old)
    moved = (grads["linear"]["bias"] != 0).tolist()
    assert moved == [True, True, False, True, True, False]


def test_the_first_task_is_replay_inside_its_classes() -> None:
    me = begin(SSIL()).meet(torch.tensor([0, 1]))
    new, old = SSIL().view(me, labelled(torch.tensor([0, 0, 1])), labelled(torch.tensor([1, 0]), 3))
    both = torch.cat([me.net(batch.x, "linear", "batch") for batch in (new, old)])[:, :2]
    expected = F.cross_entropy(both, torch.cat([new.y, old.y]))
    torch.testing.assert_close(SSIL().loss(me, new, old), expected)


def test_the_teacher_is_the_network_at_the_last_tasks_end() -> None:
    engine, me = Engine(SSIL()), begin(SSIL())
    for task in stream(steps=3):
        taught = snapshot(me.extra["teacher"])
        for new in task:
            me, _ = engine.step(me, new)
            assert same(snapshot(me.extra["teacher"]), taught)
        me = engine.end_task(me)
        assert same(snapshot(me.extra["teacher"]), snapshot(me.net))


def test_the_teacher_is_used_once_a_task_is_finished() -> None:
    me = train(SSIL(), begin(SSIL()), stream(steps=2)[:1])
    new = stream(steps=2)[1][0]
    strange = begin(SSIL(), seed=5).net
    for later, matters in ((True, True), (False, False)):
        losses = [
            Engine(SSIL()).step(replace(state, later=later), new)[1]
            for state in (me, me.with_extra(teacher=strange))
        ]
        assert bool(losses[0] != losses[1]) == matters


def test_the_online_variant_replays_old_classes_from_the_second_task_on() -> None:
    method = SSIL(variant="online")
    engine, me = Engine(method), begin(method)
    first, second = stream(steps=4)
    for new in first:
        assert method.retrieve(me, new) is None
        me, _ = engine.step(me, new)
    me = engine.end_task(me)
    for new in second:
        me = me.meet(new.y)
        replayed = method.retrieve(me, new)
        assert replayed is not None
        assert len(replayed) == 10
        assert (replayed.y < 2).all()
        me, _ = engine.step(me, new)


def test_rows_of_old_classes_repeat_when_few_are_left() -> None:
    me = train(SSIL(), begin(SSIL()), stream(steps=2)[:1])
    me = me.meet(torch.tensor([2, 3]))
    me.memory.y[:18] = 2
    rows = rows_of_old_classes(me, 10)
    assert sorted(rows.tolist()) == [18] * 5 + [19] * 5
    me.memory.y[:20] = 3
    alone = rows_of_old_classes(me, 10)
    assert len(set(alone.tolist())) == 1
    assert alone.max() < 20


def test_rows_of_old_classes_are_drawn_evenly_and_once() -> None:
    me = train(SSIL(), begin(SSIL()), stream(steps=2)[:1])
    me = me.meet(torch.tensor([2, 3]))
    me.memory.y[:8] = 2
    counts = torch.zeros(20)
    for step in range(500):
        rows = rows_of_old_classes(replace(me, step=torch.tensor(step)), 4)
        assert len(set(rows.tolist())) == 4
        counts[rows] += 1
    assert (counts[:8] == 0).all()
    assert (counts[8:] - 500 * 4 / 12).abs().max() < 5 * (500 * 1 / 3 * 2 / 3) ** 0.5


@pytest.mark.parametrize("variant", ["online", "trick"])
def test_variants_looped_equal_vectorised(variant: Variant) -> None:
    method = SSIL(variant=variant)
    step_of_many(method)

"""OCM: its two losses term by term, its teacher, its views, what it does in a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, to_float
from bison_ocl.data import load
from bison_ocl.engine.step import Engine
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.run import Run
from bison_ocl.methods.ocm.info_nce import info_nce, paired_info_nce
from bison_ocl.methods.ocm.ocm import OCM
from bison_ocl.methods.ocm.similarity import random_similarity
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.nets.heads import unit
from bison_ocl.nets.net import Net
from bison_ocl.nets.optimiser import Adam
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from bison_ocl.stream.streams import DEFAULT, stream_of
from bison_ocl.views.crop_flip_grey import crop_flip_grey
from bison_ocl.views.rotations import rotation_labels, rotations
from tests.tiny import begin, same, size, snapshot, stream, train

METHOD = OCM(kappa=0.5)


def after(steps: int, method: OCM = METHOD) -> tuple[State, list[Batch]]:
    """A tiny run some steps into its second task, and the batches still to come."""
    me = train(method, begin(method), stream()[:1])
    batches = stream()[1]
    for batch in batches[:steps]:
        me, _ = Engine(method).step(me, batch)
    return me, batches[steps:]


def floats(batch: Batch) -> Batch:
    return Batch(to_float(batch.x, torch.float64), batch.y)


def pairs(me: State, name: str, x: Tensor) -> Tensor:
    turned = rotations(x)
    return torch.cat([turned, crop_flip_grey(me.key(name), turned)])


def contrast(me: State, net: Net, z: Tensor, name: str, kappa: float) -> Tensor:
    return kappa * random_similarity(me.key(f"{name} slice"), net.logits(z, "projection"), z)


# --- the losses ---


def test_the_first_task_contrasts_and_classifies_the_stream() -> None:
    me, new = begin(METHOD), floats(stream()[0][0])
    me = me.meet(new.y)
    net = me.net.copy()
    z = net.features(pairs(me, "new", new.x))
    assert len(z) == 320
    y = rotation_labels(new.y, 1000).repeat(2)
    expected = paired_info_nce(contrast(me, net, z, "new", 1.0), y, 0.07)
    logits = net(crop_flip_grey(me.key("classify"), new.x), "linear")
    expected = expected + F.cross_entropy(logits, new.y)
    found = METHOD.stream_loss(replace(me, net=me.net.copy()), new)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)


def test_later_tasks_add_five_terms() -> None:
    me, (new, *_) = after(1)
    me = me.meet(new.y)
    old = METHOD.retrieve(me, new)
    assert old is not None
    new, old = floats(new), floats(old)
    net, teacher = me.net.copy(), me.extra["teacher"].copy()
    z = net.features(torch.cat([pairs(me, "new", new.x), pairs(me, "old", old.x)]))
    assert len(z) == 640
    y_new, y_old = rotation_labels(new.y, 1000), rotation_labels(old.y, 1000)
    stream_term = paired_info_nce(contrast(me, net, z[:320], "new", 0.5), y_new.repeat(2), 0.07)
    memory_term = info_nce(contrast(me, net, z[320:], "old", 0.5), y_old.repeat(2), 0.07)
    now = unit(net.logits(z[320:480], "projection"))
    before = unit(teacher(rotations(old.x), "projection", "train"))
    previous_term = info_nce(now @ before.T, y_old, 0.07)
    logits = net(crop_flip_grey(me.key("classify"), old.x), "linear")
    taught = teacher(crop_flip_grey(me.key("teach"), old.x), "linear", "train")
    distance = F.mse_loss(logits[:, :2], taught[:, :2])  # the first task's classes
    ce = F.cross_entropy(logits, old.y)
    expected = stream_term + memory_term + previous_term + distance + ce
    live = replace(me, net=me.net.copy())
    torch.testing.assert_close(METHOD.loss(live, new, old), expected, rtol=1e-12, atol=0)
    assert same(snapshot(live.net.stats), snapshot(net.stats))


def test_old_classes_are_a_set_and_not_a_range() -> None:
    """The distance to the teacher follows the table of classes, whatever their ids."""
    me, (new, *_) = after(1)
    old = METHOD.retrieve(me, new)
    assert old is not None
    grads = []
    for table in ([0, 0, 1, 1], [1, 0, 1, 0]):
        state = replace(me, table=torch.tensor(table))
        state = with_teacher_bias(state, torch.tensor([0.0, 0, 0, 100]))
        grads.append(state.grad(METHOD.loss, floats(new), floats(old))[1]["linear"]["bias"])
    assert grads[0].abs().max() < 10
    assert grads[1][3] < -10


def with_teacher_bias(me: State, bias: Tensor) -> State:
    teacher = me.extra["teacher"]
    linear = teacher.params["linear"] | {"bias": bias.double()}
    return me.with_extra(teacher=replace(teacher, params=teacher.params | {"linear": linear}))


def test_the_teacher_is_left_alone() -> None:
    me, (new, *_) = after(0)
    before = snapshot(me.extra["teacher"])
    me, _ = Engine(METHOD).step(me, new)
    assert same(snapshot(me.extra["teacher"]), before)


def test_unseen_rows_take_no_part_in_an_open_world() -> None:
    me = begin(METHOD, closed=False)
    fresh = snapshot(me.net.params["linear"])
    me = train(METHOD, me, stream()[:1])
    for name, value in snapshot(me.net.params["linear"]).items():
        assert torch.equal(value[2:], fresh[name][2:])
        assert not torch.equal(value[:2], fresh[name][:2])


# --- in a run ---


def test_nothing_is_replayed_in_the_first_task() -> None:
    me = begin(METHOD)
    engine, batches = Engine(METHOD), stream()[0]
    for batch in batches[:3]:
        me, _ = engine.step(me, batch)
    assert METHOD.retrieve(me, batches[3]) is None
    blank = replace(me, memory=begin(METHOD).memory)
    one, other = (
        engine.step(tree.map_leaves(torch.clone, me), batches[3]),
        engine.step(blank, batches[3]),
    )
    assert same(snapshot((one[0].net, one[1])), snapshot((other[0].net, other[1])))


def test_the_stream_is_not_classified_later() -> None:
    """Its labels reach the linear head by the memory alone."""
    me, (new, *_) = after(0)  # the memory holds the first task only
    old = METHOD.retrieve(me, new)
    assert old is not None
    assert (old.y < 2).all()
    _, grads = me.meet(new.y).grad(METHOD.loss, floats(new), floats(old))
    swapped = Batch(new.x, 5 - new.y)
    _, other = me.meet(new.y).grad(METHOD.loss, floats(swapped), floats(old))
    assert same(snapshot(grads["linear"]), snapshot(other["linear"]))


def test_a_tasks_end_makes_the_teacher() -> None:
    me, _ = after(3)
    assert not same(snapshot(me.extra["teacher"]), snapshot(me.net))
    closed = Engine(METHOD).end_task(me)
    assert same(snapshot(closed.extra["teacher"]), snapshot(me.net))


def test_kappa_counts_from_the_second_task_on() -> None:
    me, new = begin(OCM()), stream()[0][0]
    one, other = (Engine(OCM(kappa=k)).step(begin(OCM()), new)[1] for k in (0.5, 1.0))
    assert torch.equal(one, other)
    me, (new, *_) = after(0, OCM())
    states = [tree.map_leaves(torch.clone, me) for _ in range(2)]
    losses = [
        Engine(OCM(kappa=k)).step(state, new)[1]
        for k, state in zip((0.5, 1.0), states, strict=True)
    ]
    assert losses[0] != losses[1]


def test_the_two_views_for_the_distance_differ() -> None:
    me, _ = after(0)
    x = floats(stream()[0][0]).x
    one, other = (crop_flip_grey(me.key(name), x) for name in ("classify", "teach"))
    assert not torch.equal(one, other)


# --- settings ---


def test_the_optimiser_is_the_papers() -> None:
    assert OCM().optimiser() == Adam(1e-3, (0.9, 0.99), 1e-4)


@pytest.mark.parametrize(
    ("data", "kappa"),
    [("split-cifar10", 0.5), ("split-digits", 0.5), ("split-cifar100", 1.0), (None, 1.0)],
)
def test_presets(data: str | None, kappa: float) -> None:
    method = configured("ocm", data, {})
    assert isinstance(method, OCM)
    assert (method.kappa, method.temperature, method.buffer_batch) == (kappa, 0.07, 10)
    assert method.filters == 20


@pytest.mark.parametrize(
    ("filters", "side", "classes", "expected"),
    [(20, 32, 10, 1_115_358), (20, 84, 100, 1_239_288), (64, 32, 100, 11_285_796)],
)
def test_known_numbers_of_parameters(filters: int, side: int, classes: int, expected: int) -> None:
    backbone = ResNet18(filters, (3, side, side))
    me = begin(OCM(), backbone=backbone, classes=classes, dtype=torch.float32)
    assert size(me.net.params) == expected


# --- old logits by position ---


def test_by_position_the_first_logits_by_the_datasets_numbers_are_held() -> None:
    """Code that slices `[:k]` on shuffled classes holds others than the k old ones."""
    method = OCM(old_logits="position")
    me, _ = after(1, method)
    order = torch.arange(me.classes).flip(0)
    me = method.numbered(me, order)
    k = int(me.old.sum())
    assert 0 < k < me.classes
    held = method.distilled(me).nonzero().flatten().tolist()
    assert set(held) == set(order.argsort()[:k].tolist())
    assert not torch.equal(method.distilled(me), me.old)


def test_classes_that_come_in_the_order_of_their_numbers_are_held_as_a_set() -> None:
    method = OCM(old_logits="position")
    me, _ = after(1, method)
    assert torch.equal(method.distilled(method.numbered(me, torch.arange(me.classes))), me.old)
    assert torch.equal(method.distilled(me), me.old), "a learner numbers classes by appearance"


def test_by_the_set_a_run_keeps_no_order() -> None:
    me = begin(METHOD)
    assert "order" not in METHOD.numbered(me, torch.arange(me.classes)).extra


def test_a_run_by_position_is_told_the_datasets_numbers() -> None:
    dataset = load("split-digits")
    stream = stream_of(DEFAULT, dataset, 3)
    method = configured("ocm", "split-digits", {"old_logits": "position", "filters": 1})
    spec = Spec("ocm", "split-digits", 20, 3, settings_of(method))
    assert Run(spec, method, stream).me.extra["order"].tolist() == list(stream.order)

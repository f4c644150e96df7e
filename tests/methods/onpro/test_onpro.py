"""OnPro: its losses term by term, when it mixes, its prototypes, its settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch, to_float
from bison_ocl.engine.step import Engine
from bison_ocl.methods.ocm.info_nce import info_nce, paired_info_nce
from bison_ocl.methods.ocm.similarity import random_similarity
from bison_ocl.methods.onpro.feedback import Feedback
from bison_ocl.methods.onpro.onpro import OnPro
from bison_ocl.methods.onpro.prototype_equilibrium import prototype_equilibrium
from bison_ocl.methods.settings import configured
from bison_ocl.nets.heads import unit
from bison_ocl.nets.net import Net
from bison_ocl.nets.optimiser import Adam
from bison_ocl.state import State
from bison_ocl.views.crop_flip_grey import crop_flip_grey
from bison_ocl.views.rotations import rotation_labels, rotations
from tests.tiny import begin, same, snapshot, stream, train

METHOD = OnPro(kappa=0.5, mixup_rate=0.5, mixup_probability=1.0)


def first_task(steps: int) -> tuple[State, Batch]:
    me, batches = begin(METHOD), stream()[0]
    for batch in batches[:steps]:
        me, _ = Engine(METHOD).step(me, batch)
    return me, batches[steps]


def second_task(steps: int) -> tuple[State, Batch]:
    me, batches = train(METHOD, begin(METHOD), stream()[:1]), stream()[1]
    for batch in batches[:steps]:
        me, _ = Engine(METHOD).step(me, batch)
    return me, batches[steps]


def floats(batch: Batch | None) -> Batch:
    assert batch is not None
    return Batch(to_float(batch.x, torch.float64), batch.y)


def pairs(me: State, name: str, x: Tensor) -> Tensor:
    turned = rotations(x)
    return torch.cat([turned, crop_flip_grey(me.key(name), turned)])


def similar(me: State, net: Net, z: Tensor, name: str, kappa: float) -> Tensor:
    return kappa * random_similarity(me.key(f"{name} slice"), net.logits(z, "projection"), z)


def stream_terms(me: State, net: Net, z: Tensor, new: Batch, kappa: float) -> Tensor:
    """NT_n of all pairs, OPE of the rows that are not rotated and their views."""
    y = rotation_labels(new.y, 1000).repeat(2)
    contrast = paired_info_nce(similar(me, net, z, "new", kappa), y, 0.07)
    upright = unit(net.logits(torch.cat([z[:10], z[160:170]]), "projection"))
    return contrast + prototype_equilibrium(upright, new.y, 4, 0.5)


def memory_term(me: State, net: Net, old: Batch) -> Tensor:
    """OPE of the original draw and a view of it."""
    x = torch.cat([old.x, crop_flip_grey(me.key("prototypes"), old.x)])
    return prototype_equilibrium(unit(net(x, "projection")), old.y, 4, 0.5)


# --- the losses ---


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_first_task(steps: int) -> None:
    """CE and contrast of the stream; from the second batch on also prototypes of the memory."""
    me, new = first_task(steps)
    _, measured = Engine(METHOD).step(tree.map_leaves(torch.clone, me), new)
    me = me.meet(new.y)
    old, new, net = METHOD.retrieve(me, new), floats(new), me.net.copy()
    assert (old is None) == (steps == 0)
    expected = stream_terms(me, net, net.features(pairs(me, "new", new.x)), new, 1.0)
    logits = net(crop_flip_grey(me.key("classify"), new.x), "linear")
    expected = expected + F.cross_entropy(logits, new.y)
    if old is not None:
        expected = expected + memory_term(me, net, floats(old))
    torch.testing.assert_close(measured, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_later_tasks(steps: int) -> None:
    """The first batch of a task is replayed as it is, later ones mixed."""
    me, new = second_task(steps)
    _, measured = Engine(METHOD).step(tree.map_leaves(torch.clone, me), new)
    me = me.meet(new.y)
    old, new, net = floats(METHOD.retrieve(me, new)), floats(new), me.net.copy()
    mixed = Feedback(0.5, 1.0)(me.key("feedback"), me.memory, old, me.extra["prototypes"])
    assert bool(mixed.share.any()) == (steps > 0)
    z = net.features(torch.cat([pairs(me, "new", new.x), pairs(me, "old", mixed.x)]))
    expected = stream_terms(me, net, z[:320], new, 0.5)
    real = (1 - mixed.share) * mixed.first + mixed.share * mixed.second
    y = rotation_labels(real, 1000).repeat(2)  # a label there is a real number
    expected = expected + info_nce(similar(me, net, z[320:], "old", 0.5), y, 0.07)
    logits = net(crop_flip_grey(me.key("classify"), mixed.x), "linear")
    one, other = (F.cross_entropy(logits, v, reduction="none") for v in mixed.targets[:2])
    expected = expected + ((1 - mixed.share) * one + mixed.share * other).mean()
    expected = expected + memory_term(me, net, old)
    torch.testing.assert_close(measured, expected, rtol=1e-9, atol=0)


def test_the_first_batch_of_a_later_task_uses_plain_cross_entropy() -> None:
    me, new = second_task(0)
    never = replace(METHOD, mixup_probability=0.0)
    states = [tree.map_leaves(torch.clone, me) for _ in range(2)]
    one, other = (Engine(m).step(s, new) for m, s in zip((METHOD, never), states, strict=True))
    assert same(snapshot(one), snapshot(other))


# --- prototypes ---


def test_prototypes_are_class_means_of_the_draw_in_two_views() -> None:
    me, new = second_task(2)
    old = floats(METHOD.retrieve(me, new))
    x = torch.cat([old.x, crop_flip_grey(me.key("prototypes"), old.x)])
    v = unit(me.net.copy()(x, "projection", "train"))
    after, _ = Engine(METHOD).step(me, new)
    for c in range(4):
        own = old.y == c
        expected = torch.zeros_like(v[0])
        if own.any():
            expected = (v[:10][own].mean(0) + v[10:][own].mean(0)) / 2
        torch.testing.assert_close(after.extra["prototypes"][c], expected, rtol=1e-12, atol=1e-15)


def test_a_tasks_end_forgets_the_prototypes_and_nothing_else() -> None:
    me, _ = second_task(2)
    assert me.extra["prototypes"].any()
    before, now = snapshot(me), snapshot(Engine(METHOD).end_task(me))
    changed = {name for name in now if not torch.equal(now[name], before[name])}
    assert changed == {"extra.prototypes", "task"}
    assert not now["extra.prototypes"].any()


def test_no_image_of_the_stream_is_classified_later() -> None:
    me, new = second_task(0)
    old = floats(METHOD.retrieve(me, new))
    assert (old.y < 2).all()
    me = me.meet(new.y)
    one, other = (
        me.grad(METHOD.loss, floats(Batch(new.x, y)), old)[1]["linear"] for y in (new.y, 5 - new.y)
    )
    assert same(snapshot(one), snapshot(other))


# --- settings ---


def test_the_optimiser_is_the_authors() -> None:
    assert OnPro().optimiser() == Adam(5e-4, (0.9, 0.99), 1e-4)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("split-cifar10", (64, 64, 0.5, 0.75, 0.6)),
        ("split-cifar100", (64, 64, 1.0, 0.9, 0.2)),
        ("split-tinyimagenet", (64, 64, 1.0, 0.9, 0.2)),
        ("split-digits", (20, 10, 0.5, 0.75, 0.6)),
        (None, (20, 10, 1.0, 0.9, 0.2)),
    ],
)
def test_presets(data: str | None, expected: tuple[Any, ...]) -> None:
    method = configured("onpro", data, {})
    assert isinstance(method, OnPro)
    found = method.filters, method.buffer_batch, method.kappa
    assert (*found, method.mixup_rate, method.mixup_probability) == expected
    assert (method.temperature, method.prototype_temperature) == (0.07, 0.5)

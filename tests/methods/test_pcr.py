"""PCR: one contrast over stream and memory, nothing at the first step."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from bison_ocl.batch import Batch, to_float
from bison_ocl.engine.step import Engine
from bison_ocl.methods.pcr import PCR, proxy_contrastive
from bison_ocl.nets.heads import cosine
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from tests.tiny import (
    Flat,
    begin,
    flat_images,
    held_out,
    labelled,
    same,
    size,
    snapshot,
    with_params,
)

NEW = Batch(flat_images([[1, 0], [0, 1]]), torch.tensor([0, 1]))
OLD = Batch(flat_images([[1, 1]]), torch.tensor([1]))
W = [[1.0, 0], [0, 1], [1, 1]]


def example(method: PCR) -> State:
    me = begin(method, backbone=Flat(2), classes=3, shape=(1, 1, 2))
    return replace(me, net=with_params(me.net, "proxies", weight=W))


@pytest.mark.parametrize(("temperature", "expected"), [(0.07, 0.5972537), (0.09, 0.5972656)])
def test_known_values(temperature: float, expected: float) -> None:
    method = PCR(temperature=temperature)
    assert method.loss(example(method), NEW, OLD).item() == pytest.approx(expected, abs=5e-8)
    assert PCR().temperature == 0.07


def test_stream_and_memory_pass_separately_unless_joint() -> None:
    me = begin(PCR())
    new, old = PCR().view(me, labelled(torch.tensor([2, 3, 3])), labelled(torch.tensor([0, 1]), 1))
    y, w = torch.cat([new.y, old.y]), me.net.weight("proxies")
    apart = torch.cat([me.net.features(batch.x, "batch") for batch in (new, old)])
    torch.testing.assert_close(PCR().loss(me, new, old), proxy_contrastive(apart, y, w, 0.07))
    once = me.net.features(torch.cat([new.x, old.x]), "batch")
    joint = PCR(joint=True).loss(me, new, old)
    torch.testing.assert_close(joint, proxy_contrastive(once, y, w, 0.07))


def test_one_class_alone_teaches_nothing() -> None:
    me = example(PCR())
    ones = [Batch(batch.x, torch.ones_like(batch.y)) for batch in (NEW, OLD)]
    loss, grads = me.grad(PCR().loss, *ones)
    assert loss.item() == pytest.approx(math.log(3))
    assert grads["proxies"]["weight"].abs().max() < 1e-14


def test_the_first_step_stores_and_learns_nothing() -> None:
    me, new = begin(PCR()), labelled(torch.tensor([0, 1, 1]))
    before = snapshot(me.net)
    me, loss = Engine(PCR()).step(me, new)
    assert loss == 0
    assert same(snapshot(me.net), before)
    assert (me.memory.filled, me.step.item()) == (3, 1)
    me, loss = Engine(PCR()).step(me, new)
    assert loss > 0
    assert not same(snapshot(me.net), before)


def test_prediction_is_the_nearest_seen_proxy() -> None:
    me = begin(PCR()).meet(torch.tensor([1, 3]))
    x = to_float(held_out().x, torch.float64)
    nearest = cosine(me.net.features(x, "eval"), me.net.weight("proxies"))[:, [1, 3]].argmax(1)
    scores = PCR().predict(me, (), x)
    assert torch.equal(scores.argmax(1), 1 + 2 * nearest)


@pytest.mark.parametrize(
    ("classes", "side", "expected"),
    [(10, 32, 1_094_740), (100, 32, 1_109_140), (100, 84, 1_157_140)],
)
def test_parameter_counts(classes: int, side: int, expected: int) -> None:
    backbone = ResNet18(shape=(3, side, side))
    me = begin(PCR(), backbone=backbone, classes=classes, capacity=0, dtype=torch.float32)
    assert size(me.net.params) == expected

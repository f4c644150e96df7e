"""SCR: its passes, its contrast, nothing at the first step."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.losses.supervised_contrastive import supervised_contrastive
from bison_ocl.methods.scr import SCR
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from tests.tiny import begin, labelled, same, size, snapshot, stream, train, with_params


def views(me: State) -> tuple[Batch, Batch]:
    new, old = SCR().view(me, labelled(torch.tensor([2, 3, 3])), labelled(torch.tensor([0, 2]), 1))
    return new, old


def contrast(me: State, z: Tensor, y: Tensor) -> Tensor:
    v = me.net.logits(z, "projection")
    return supervised_contrastive(v / v.norm(dim=1, keepdim=True), y, 0.07)


def test_originals_of_both_pass_together_then_their_augmented_views() -> None:
    me = begin(SCR())
    new, old = views(me)
    expected = me.net.copy()
    originals = expected.features(torch.cat([new.x[:3], old.x[:2]]))
    augmented = expected.features(torch.cat([new.x[3:], old.x[2:]]))
    y = torch.cat([new.y[:3], old.y[:2]])
    wanted = contrast(me, torch.cat([originals, augmented]), torch.cat([y, y]))
    torch.testing.assert_close(SCR().loss(me, new, old), wanted)
    assert same(snapshot(me.net.stats), snapshot(expected.stats))


def test_features_keep_the_order_of_their_batches() -> None:
    me = begin(SCR())
    new, old = views(me)
    z_new, z_old = SCR().features(me, new, old)
    together = me.net.features(torch.cat([new.x[:3], old.x[:2]]), "batch")
    assert (len(z_new), len(z_old)) == (6, 4)
    torch.testing.assert_close(z_new[:3], together[:3])
    torch.testing.assert_close(z_old[:2], together[3:])


def test_stream_and_memory_apart_is_a_setting() -> None:
    me, method = begin(SCR()), SCR(joint=False)
    new, old = views(me)
    z = torch.cat([me.net.features(batch.x, "batch") for batch in (new, old)])
    wanted = contrast(me, z, torch.cat([new.y, old.y]))
    torch.testing.assert_close(method.loss(me, new, old), wanted)


def test_the_first_step_stores_and_learns_nothing() -> None:
    me, new = begin(SCR()), labelled(torch.tensor([0, 1, 1]))
    before = snapshot(me.net)
    me, loss = Engine(SCR()).step(me, new)
    assert loss == 0
    assert same(snapshot(me.net), before)
    assert me.memory.filled == 3
    me, loss = Engine(SCR()).step(me, new)
    assert loss > 0
    assert not same(snapshot(me.net), before)


def test_the_projection_does_not_predict() -> None:
    me = train(SCR(), begin(SCR()), stream(steps=2))
    engine, test = Engine(SCR()), stream(seed=1, steps=1)[0][0]
    scores = engine.scores(me, engine.summarise(me), test.x)
    zeros = torch.zeros_like(me.net.params["projection"]["second.weight"])
    other: Any = with_params(me.net, "projection", **{"second.weight": zeros})
    me = State(**{**vars(me), "net": other})
    assert torch.equal(engine.scores(me, engine.summarise(me), test.x), scores)


def test_a_contrast_needs_two_views() -> None:
    with pytest.raises(UserError, match="use view_mode=append"):
        SCR(view_mode="replace")


@pytest.mark.parametrize(("side", "expected"), [(32, 1_139_508), (84, 1_585_428)])
def test_parameter_counts(side: int, expected: int) -> None:
    backbone = ResNet18(shape=(3, side, side))
    me = begin(SCR(), backbone=backbone, classes=100, capacity=0, dtype=torch.float32)
    assert size(me.net.params) == expected

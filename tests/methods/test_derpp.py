"""DER++: Eq. 6 by a naive loop, what it stores with an image, its draws and its values."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.contract.executions import step_of_many
from bison_ocl.engine.step import Engine
from bison_ocl.methods.derpp import DERPlusPlus
from bison_ocl.methods.settings import configured
from bison_ocl.nets.optimiser import SGD
from bison_ocl.state import State
from tests.tiny import begin, labelled, stream, train

NEW = labelled(torch.tensor([2, 3, 3, 2]), 7)


def second_task(method: DERPlusPlus) -> State:
    return train(method, begin(method), stream(steps=3)[:1]).meet(NEW.y)


def negative_log_likelihood(logits: Tensor, y: Tensor) -> float:
    """The mean of −log softmax at the label, image by image and class by class."""
    total = 0.0
    for row, label in zip(logits.tolist(), y.tolist(), strict=True):
        total -= row[label] - math.log(sum(math.exp(value) for value in row))
    return total / len(y)


def distance(logits: Tensor, stored: Tensor) -> float:
    """The mean of (logit − stored logit)², image by image and class by class."""
    squares = [
        (one - other) ** 2
        for row, kept in zip(logits.tolist(), stored.tolist(), strict=True)
        for one, other in zip(row, kept, strict=True)
    ]
    return sum(squares) / len(squares)


def by_hand(method: DERPlusPlus, me: State) -> float:
    """Eq. 6: CE(stream) + α MSE(x', stored logits) + β CE(x'', y''), with views of each image."""
    labelled_rows = me.memory.draw(me.key("retrieve"), 10)
    name = "retrieve" if method.shared_draw else "retrieve logits"
    logit_rows = me.memory.draw(me.key(name), 10)
    assert torch.equal(labelled_rows, logit_rows) == method.shared_draw
    draws = [labelled_rows] if method.shared_draw else [labelled_rows, logit_rows]
    views = method.view(me, NEW, *(me.memory.rows(rows) for rows in draws))
    new, replayed, matched = ([*views, views[-1]])[:3]
    stored = me.memory.fields["logits"][logit_rows]

    def logits(batch: Batch) -> Tensor:
        return me.net(batch.x, "linear", "batch").detach()

    return (
        negative_log_likelihood(logits(new), new.y)
        + method.alpha * distance(logits(matched), torch.cat([stored, stored]))
        + method.beta * negative_log_likelihood(logits(replayed), replayed.y)
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 0.7), (0.0, 1.0), (1.0, 0.0)])
def test_a_step_equals_the_formula(alpha: float, beta: float, shared: bool) -> None:
    method = DERPlusPlus(alpha=alpha, beta=beta, shared_draw=shared)
    me = second_task(method)
    expected = by_hand(method, me)
    update = method.update(replace(me, net=me.net.copy()), NEW)
    assert update.loss.item() == pytest.approx(expected, rel=1e-12)


def test_no_task_boundary_changes_the_loss() -> None:
    """Unlike LODE, which builds on it, DER++ never asks which task an image belongs to."""
    method = DERPlusPlus()
    me = second_task(method)
    later = replace(me, task=me.task + 3, later=True)
    losses = [method.update(replace(s, net=s.net.copy()), NEW).loss for s in (me, later)]
    assert losses[0] == losses[1]
    assert not method.boundaries


def test_logits_are_stored_as_they_were_before_the_update() -> None:
    method = DERPlusPlus()
    me = begin(method)
    (view,) = method.view(me, NEW)
    expected = me.net(view.x, "linear", "batch")[:4]
    me, _ = Engine(method).step(me, NEW)
    torch.testing.assert_close(me.memory.fields["logits"][:4], expected)
    assert me.memory.fields["known"][:4].all()


def test_the_first_step_is_plain_cross_entropy() -> None:
    me = begin(DERPlusPlus())
    (view,) = DERPlusPlus().view(me, NEW)
    expected = negative_log_likelihood(me.net(view.x, "linear", "batch").detach(), view.y)
    _, loss = Engine(DERPlusPlus()).step(me, NEW)
    assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_values_by_dataset() -> None:
    def values(data: str) -> tuple[float, float, float]:
        method = configured("derpp", data, {})
        assert isinstance(method, DERPlusPlus)
        return method.alpha, method.beta, method.lr

    assert values("split-cifar10") == values("split-tinyimagenet") == (0.2, 0.5, 0.03)
    assert values("split-cifar100") == (0.1, 0.5, 0.03)
    assert DERPlusPlus().optimiser() == SGD(0.03)


@pytest.mark.parametrize("method", [DERPlusPlus(shared_draw=True), DERPlusPlus(joint=True)])
def test_variants_looped_equal_vectorised(method: DERPlusPlus) -> None:
    step_of_many(method)

"""LODE: its loss by hand, what it stores with an image, its draws and its values."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.contract.executions import step_of_many
from bison_ocl.engine.step import Engine
from bison_ocl.losses.dark_experience import dark_experience
from bison_ocl.methods.lode import LODE
from bison_ocl.methods.settings import configured
from bison_ocl.nets.optimiser import SGD
from bison_ocl.state import State
from tests.tiny import begin, flat_images, labelled, stream, train

NEW = labelled(torch.tensor([2, 3, 3, 2]), 7)
LOGITS = [torch.tensor([[2.0, 1, 0, -1]], dtype=torch.float64)]


@pytest.mark.parametrize(
    ("rho", "tasks", "expected"),
    [
        (0.1, 0, 2.4401897),
        (0.1, 1, 0.5259545),
        (0.1, 4, 0.3664349),
        (0.5, 1, 1.3767257),
        (0.5, 9, 0.4314244),
    ],
)
def test_known_stream_losses(rho: float, tasks: int, expected: float) -> None:
    """The weight of old against new falls with the number of finished tasks."""
    method = LODE(rho=rho)
    me = begin(method).meet(torch.tensor([0, 1]))
    me = replace(me, task=me.task + tasks, later=tasks > 0).meet(torch.tensor([2]))
    batch = Batch(flat_images([[0.0]]), torch.tensor([2]))
    loss = method.total(me, LOGITS, [batch], [])
    assert loss.item() == pytest.approx(expected, abs=5e-8)


def second_task(method: LODE) -> State:
    return train(method, begin(method), stream(steps=3)[:1]).meet(NEW.y)


def by_hand(method: LODE, me: State) -> torch.Tensor:
    """The paper's formula for a step of the second task, classes 0 and 1 being old."""
    first = me.memory.draw(me.key("retrieve"), 10)
    second = first if method.shared_draw else me.memory.draw(me.key("retrieve logits"), 10)
    assert torch.equal(first, second) == method.shared_draw
    draws = [first] if method.shared_draw else [first, second]
    views = method.view(me, NEW, *(me.memory.rows(rows) for rows in draws))
    logits = [me.net(view.x, "linear", "batch") for view in views]
    full = F.cross_entropy(logits[0], views[0].y)
    intra = F.cross_entropy(logits[0][:, 2:], views[0].y - 2)
    stored = me.memory.fields["logits"][second]
    return (
        method.rho * (full - intra)
        + method.beta1 * intra
        + method.beta * F.cross_entropy(logits[1], views[1].y)
        + method.alpha * F.mse_loss(logits[-1], torch.cat([stored, stored]))
    )


@pytest.mark.parametrize("shared", [False, True])
def test_a_step_equals_the_formula(shared: bool) -> None:
    method = LODE(alpha=0.3, beta=0.7, rho=0.2, beta1=0.9, shared_draw=shared)
    me = second_task(method)
    expected = by_hand(method, me)
    update = method.update(replace(me, net=me.net.copy()), NEW)
    torch.testing.assert_close(update.loss, expected)


def test_joint_is_one_pass_for_all() -> None:
    me = second_task(LODE())
    views = LODE().view(me, NEW, me.memory.rows(torch.arange(5)), me.memory.rows(torch.arange(3)))
    joint = LODE(joint=True).passes(me.net.copy(), views)
    assert [len(part) for part in joint] == [8, 10, 6]
    expected = me.net(torch.cat([view.x for view in views]), "linear", "batch")
    torch.testing.assert_close(torch.cat(joint), expected)


def test_logits_are_stored_as_they_were_before_the_update() -> None:
    me, method = begin(LODE()), LODE()
    (view,) = method.view(me, NEW)
    expected = me.net(view.x, "linear", "batch")[:4]
    me, _ = Engine(method).step(me, NEW)
    torch.testing.assert_close(me.memory.fields["logits"][:4], expected)
    assert me.memory.fields["known"][:4].all()


def test_an_augmented_view_alone_gives_the_logits_where_it_replaces() -> None:
    method = LODE(view_mode="replace")
    me = begin(method)
    (view,) = method.view(me, NEW)
    expected = me.net(view.x, "linear", "batch")
    me, _ = Engine(method).step(me, NEW)
    torch.testing.assert_close(me.memory.fields["logits"][:4], expected)
    _, loss = Engine(method).step(me, NEW)
    assert loss.isfinite()


def test_the_first_step_is_plain_cross_entropy() -> None:
    me = begin(LODE())
    (view,) = LODE().view(me, NEW)
    expected = F.cross_entropy(me.net(view.x, "linear", "batch"), view.y)
    torch.testing.assert_close(Engine(LODE()).step(me, NEW)[1], expected)


def test_classes_that_came_later_do_not_count_in_stored_logits() -> None:
    """In an open world the head grows; what was stored before knows nothing of the new rows."""
    me = train(LODE(), begin(LODE(), classes=2, closed=False), stream(steps=2)[:1])
    me = tree.paste(me, begin(LODE(), closed=False))
    fields = {name: value[:20] for name, value in me.memory.fields.items()}
    assert fields["known"].tolist() == [[True, True, False, False]] * 20
    assert (fields["logits"][:, :2] != 0).all()
    logits = torch.ones(20, 4, dtype=torch.float64, requires_grad=True)
    loss = dark_experience(logits, fields["logits"], fields["known"])
    loss.backward()
    torch.testing.assert_close(loss.detach(), (1 - fields["logits"][:, :2]).square().mean())
    assert logits.grad is not None
    assert (logits.grad[:, 2:] == 0).all()
    me, _ = Engine(LODE()).step(me, labelled(torch.tensor([2, 3])))
    assert me.memory.fields["known"][:20].all(1).sum() <= 2


def test_an_image_of_an_old_class_in_the_stream_is_learned_too() -> None:
    me = second_task(LODE())
    _, loss = Engine(LODE()).step(me, labelled(torch.tensor([0, 2])))
    assert loss.isfinite()


def test_values_by_dataset() -> None:
    def values(method: LODE) -> tuple[float, ...]:
        return method.alpha, method.beta, method.rho, method.beta1, method.lr

    for data in ("split-cifar100", "split-miniimagenet", "split-tinyimagenet"):
        assert values(configured("lode", data, {})) == (0.2, 0.5, 0.1, 1.0, 0.03)  # type: ignore[arg-type]
    assert values(configured("lode", "split-cifar10", {})) == (0.1, 1.0, 0.1, 1.0, 0.03)  # type: ignore[arg-type]
    assert LODE().optimiser() == SGD(0.03)


@pytest.mark.parametrize("method", [LODE(shared_draw=True), LODE(joint=True)])
def test_variants_looped_equal_vectorised(method: LODE) -> None:
    step_of_many(method)

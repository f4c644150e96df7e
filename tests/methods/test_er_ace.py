"""ER-ACE: which classes the stream's softmax holds, and its two heads."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from bison_ocl.batch import Batch, present
from bison_ocl.methods.er_ace import ERACE
from bison_ocl.nets.heads import cosine
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from tests.tiny import Flat, begin, flat_images, held_out, size, with_params

LOGITS = [2.0, 1, 0, -1]
NEW = Batch(flat_images([LOGITS]), torch.tensor([2]))
OLD = Batch(flat_images([LOGITS]), torch.tensor([0]))


def example(method: ERACE, *seen: int) -> State:
    """Features are logits; the classes `seen` were met."""
    me = begin(method, backbone=Flat(4), shape=(1, 1, 4))
    net = with_params(me.net, method.head, weight=torch.eye(4), bias=torch.zeros(4))
    return replace(me, net=net).meet(torch.tensor(seen))


@pytest.mark.parametrize(
    ("seen", "expected"), [((2,), 2.4401897), ((0, 1, 2), 0.3132617), ((0, 1, 2, 3), 0.0)]
)
def test_the_stream_competes_with_present_and_unseen_classes(
    seen: tuple[int, ...], expected: float
) -> None:
    """The first batch of a run masks no class; once all are seen, one class is alone."""
    method = ERACE(ace_head="linear")
    loss = method.stream_loss(example(method, *seen), NEW)
    assert loss.item() == pytest.approx(expected, abs=5e-8)


def test_present_classes_only_is_a_setting() -> None:
    method = ERACE(ace_head="linear", ace_present_only=True)
    assert method.stream_loss(example(method, 2), NEW) == 0
    both = Batch(flat_images([LOGITS, LOGITS]), torch.tensor([2, 3]))
    loss = method.stream_loss(example(method, 0, 1, 2, 3), both)
    expected = F.cross_entropy(torch.tensor([[0.0, -1]] * 2).double(), torch.tensor([0, 1]))
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("settings", [{"ce_over_seen": True}, {}])
def test_where_unseen_classes_take_no_part_only_present_ones_are_left(
    settings: dict[str, bool],
) -> None:
    method = ERACE(ace_head="linear", **settings)  # type: ignore[arg-type]
    me = replace(example(method, 2), closed=bool(settings))
    assert method.stream_loss(me, NEW) == 0


def test_the_memory_competes_with_all() -> None:
    method = ERACE(ace_head="linear")
    me = example(method, 0, 1, 2)
    logits = torch.tensor([LOGITS], dtype=torch.float64)
    expected = 0.3132617 + F.cross_entropy(logits, OLD.y).item()
    assert method.loss(me, NEW, OLD).item() == pytest.approx(expected, abs=5e-8)


def test_seen_classes_that_are_absent_get_no_gradient_from_the_stream() -> None:
    me = begin(ERACE()).meet(torch.tensor([0, 1, 2]))
    new = ERACE().view(me, held_out()[20:25])[0]
    assert present(new.y, 4).tolist() == [False, False, True, False]
    _, grads = me.grad(ERACE().stream_loss, new)
    moved = (grads["classifier"]["weight"] != 0).any(1)
    assert moved.tolist() == [False, False, True, True]


def test_the_head_is_ten_cosines_without_bias() -> None:
    me = begin(ERACE())
    assert me.net.params["classifier"].keys() == {"weight"}
    z = torch.rand(3, 8, dtype=torch.float64)
    expected = 10 * cosine(z, me.net.weight("classifier"))
    torch.testing.assert_close(me.net.logits(z, "classifier"), expected)
    assert ERACE().log(me) == {}


def test_parameter_counts() -> None:
    for method, expected in ((ERACE(), 1_094_740), (ERACE(ace_head="linear"), 1_094_750)):
        me = begin(method, backbone=ResNet18(), classes=10, capacity=0, dtype=torch.float32)
        assert size(me.net.params) == expected

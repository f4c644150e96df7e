"""A learner whose steps are replayed is the learner whose steps are not, bit for bit.

Here a replay is the work done again, in place, in the buffers of the graph; on a GPU it is a graph.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bison_ocl import Learner, tree
from bison_ocl.engine import capture
from bison_ocl.engine.capture import Captured, replayed
from bison_ocl.engine.execution import Execution
from bison_ocl.errors import UserError
from bison_ocl.files import checkpoint
from bison_ocl.methods import METHODS
from bison_ocl.methods.method import Method
from tests.experiments.test_host import Waits
from tests.learners import herd, quick_settings, state
from tests.tiny import images, same, snapshot, without_a_graph

DEVICES = [
    "cpu",
    pytest.param(
        "cuda",
        marks=[
            pytest.mark.gpu,
            pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
        ],
    ),
]


class Replayed(Execution):
    """Captures on any device."""

    @property
    def captures(self) -> bool:
        return True


class Uncaptured(Execution):
    """Captures nowhere, in the layers that the device gets."""

    @property
    def captures(self) -> bool:
        return False


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "cpu":
        monkeypatch.setattr(capture, "recorded", without_a_graph)
    return str(request.param)


def learner(device: str, captured: bool, name: str = "bison", **options: Any) -> Learner:
    """A learner of a few numbers that replays its steps, or does not."""
    found = Learner(name, **({"memory": 20, "device": device} | quick_settings(name) | options))
    found._training.execution = (Replayed if captured else Uncaptured)(device)
    found._training.engine = found._training.execution.engine(found.method)
    return found


def pair(device: str, name: str = "bison", **options: Any) -> tuple[Learner, Learner]:
    return learner(device, True, name, **options), learner(device, False, name, **options)


def everything(found: Learner) -> dict[str, Tensor]:
    return snapshot({"state": checkpoint.pack(state(found))[0]})


def captured(found: Learner) -> Captured:
    assert isinstance(found._training.stepper, Captured)
    return found._training.stepper


def agree(one: Learner, other: Learner, device: str) -> None:
    """Bit for bit where a replay is the same work; on a GPU a graph may round otherwise."""
    assert one.labels == other.labels
    mine, theirs = everything(one), everything(other)
    if device == "cpu":
        assert same(mine, theirs)
    else:
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_growing_heads_odd_batches_and_predictions_in_between(name: str, device: str) -> None:
    one, other = pair(device, name, task_gap=3)
    for found in (one, other):
        for part in range(6):
            found.observe(*herd(23, classes=2 + 2 * part, seed=part))
            if part % 2:
                assert set(found.predict(images(torch.arange(4)))) <= set(found.labels)
        found.new_task()
        found.observe(*herd(20, classes=12, seed=7))
    assert captured(one).graphs
    assert state(one).classes == 16
    agree(one, other, device)


def test_a_graph_serves_until_a_shape_or_a_branch_changes(device: str) -> None:
    found = learner(device, True, classes=12)
    found.observe(*herd(40, classes=4))
    assert len(captured(found).graphs) == 1
    found.predict(images(torch.arange(3)))
    found.observe(*herd(33, classes=4))
    found.flush()
    assert len(captured(found).graphs) == 2, "a batch of three has a graph of its own"
    found.allow_more_classes()
    found.observe(*herd(10, classes=4))
    assert len(captured(found).graphs) == 3, "now the losses run over the classes seen so far"
    found.observe(images(torch.arange(20) % 13), range(20))
    assert state(found).classes == 24
    assert len(captured(found).graphs) == 1, "heads that grew need buffers of their own"


@pytest.mark.parametrize("name", ["bison", "er", "lode", "gdumb"])
@pytest.mark.parametrize("known", [0, 10, 30])
def test_a_call_that_fails_leaves_the_buffers_as_they_were(
    name: str, known: int, device: str
) -> None:
    """After two steps of the call that succeeded; the retry is as good.

    known: images before those of new classes, for which heads grow in the first step or the second.
    """
    one, other = pair(device, name, task_gap=2)
    for found in (one, other):
        found.observe(*herd(46))
    parts = herd(known, seed=1), herd(30 - known, classes=12, seed=2)
    x, y = torch.cat([x for x, _ in parts]), [label for _, y in parts for label in y]
    graphs = captured(one).graphs
    before, rows = everything(one), snapshot(state(one).memory)
    whole, left = captured(one).step, [2]

    def failing(new: Any) -> Tensor:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return whole(new)

    captured(one).step = failing  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        one.observe(x, y)
    del captured(one).step
    assert left == [0]
    assert captured(one).graphs is graphs
    assert same(before, everything(one))
    assert same(rows, snapshot(state(one).memory))
    assert len(one._training.waiting) == 6
    for found in (one, other):
        found.observe(x, y)
        found.flush()
    agree(one, other, device)


def test_buffers_are_copied_once_by_calls_that_change_them(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, kept, keep = learner(device, True), [], capture.Copies.keep
    monkeypatch.setattr(capture.Copies, "keep", lambda one: (kept.append(1), keep(one)))
    found.observe(*herd(40))
    kept.clear()
    x, y = herd(9, seed=1)
    for image, label in zip(x, y, strict=True):
        found.observe(image, label)
    found.predict(x)
    assert len(found.memory) == 20
    assert kept == [], "images that wait change no buffer"
    found.observe(*herd(31, seed=2))
    assert kept == [1], "four steps of one call"
    found.new_task()
    assert kept == [1, 1]


@pytest.mark.parametrize("name", ["bison", "lode"])
def test_a_saved_learner_goes_on_as_if_never_saved(name: str, device: str, tmp_path: Path) -> None:
    one, other = pair(device, name)
    for found in (one, other):
        found.observe(*herd(40))
    one.save(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd", device=device)
    again._training.execution, again._training.engine = (
        one._training.execution,
        one._training.engine,
    )
    again._training.start(state(again))
    for found in (again, other):
        found.observe(*herd(30, classes=12, seed=1))
    agree(again, other, device)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
def test_a_copy_goes_its_own_way(copied: Callable[[Any], Any], device: str) -> None:
    one = learner(device, True)
    one.observe(*herd(40))
    before, twin = everything(one), copied(one)
    twin.observe(*herd(20, seed=1))
    assert same(before, everything(one))
    one.observe(*herd(20, seed=1))
    assert same(everything(twin), everything(one))


def test_steps_are_refused_where_they_happen_and_warned_of_later(device: str) -> None:
    one = learner(device, True, "er", lr=1e30)
    one.observe(*herd(60))
    with (
        pytest.warns(UserWarning, match="steps were refused"),
        pytest.raises(UserError, match="scores are not finite because training diverged"),
    ):
        one.predict(images(torch.arange(2)))
    assert all(leaf.isfinite().all() for leaf in tree.leaves(state(one).net))


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("replays", [True, False])
def test_an_observe_reads_no_number(
    name: str, replays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen by the operators of the steps of a second task, once the memory has filled."""
    monkeypatch.setattr(capture, "recorded", without_a_graph)
    found = learner("cpu", replays, name)
    found.observe(*herd(60))
    found.new_task()
    found.observe(*herd(30))
    assert found._training.stepper is not None
    body, waits = found._training.stepper, Waits()
    step = body.step

    def heard(new: Any) -> Tensor:
        with waits:
            return step(new)

    monkeypatch.setattr(body, "step", heard)
    found.observe(*herd(20, seed=1))
    assert waits.seen > 2
    assert waits.found == []


def test_replaying_a_fit_is_for_captured_learners(device: str) -> None:
    assert learner(device, True, "gdumb")._training.engine.repeat is replayed
    method: Method = learner("cpu", False, "gdumb").method
    assert Execution("cpu").engine(method).repeat is not replayed


@pytest.mark.parametrize("name", ["bison", "er", "gdumb", "onpro"])
@pytest.mark.parametrize("by", [{"ids": range(60)}, {"labels": [0, 1]}])
def test_forgetting_leaves_no_buffer_and_goes_on_alike(
    name: str, by: dict[str, Any], device: str
) -> None:
    one, other = pair(device, name, task_gap=3)
    for found in (one, other):
        found.observe(*herd(60), ids=range(60))
        found.new_task()
        found.observe(*herd(15, seed=1), ids=range(60, 75))
        before = found._training.stepper
        assert found.forget(**by) > 0
        assert found._training.stepper is not before
    assert captured(one)._copies is None
    assert captured(one).graphs == {}
    for found in (one, other):
        found.observe(*herd(45, classes=6, seed=2))
    assert captured(one).graphs
    agree(one, other, device)

"""A call that fails changes nothing, whatever the caller's modes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bison_ocl import Learner, UserError
from bison_ocl.engine.eager import Eager
from tests.learners import backbone, everything, herd, new, on_disk, state, trained
from tests.tiny import images, same, snapshot


def test_a_caller_in_inference_mode_learns_and_predicts_as_any_other() -> None:
    one, other = new(), new()
    for mode, learner in ((True, one), (False, other)):
        with torch.inference_mode(mode):
            x, y = herd(13)
            learner.observe(x, y)
        learner.observe(*herd(14, classes=12, seed=1))
        with torch.inference_mode(mode):
            learner.predict(herd(4, seed=2)[0])
        learner.observe(*herd(20, classes=12, seed=3))
    assert same(everything(one), everything(other))


@pytest.mark.parametrize("options", [{}, {"backbone": None, "filters": 2}])
def test_autocast_of_the_caller_changes_nothing(options: dict[str, Any], tmp_path: Path) -> None:
    """`precision` decides; half-precision scores fit neither numpy nor ONNX."""
    one, other = new("er", **options), new("er", **options)
    x, y = herd(20)
    found = []
    for learner, enabled in ((one, True), (other, False)):
        with torch.autocast("cpu", enabled=enabled):
            learner.observe(x, y)
            learner.export(path := tmp_path / f"{enabled}.onnx")
            found.append((learner.predict_proba(x).tolist(), path.read_bytes()))
    assert same(everything(one), everything(other))
    assert found[0] == found[1]


def test_the_default_device_of_the_caller_changes_nothing(tmp_path: Path) -> None:
    """Such as after torch.set_default_device("cuda"), in a learner on the CPU."""
    x, y = herd(30)
    found = []
    for device in ("meta", "cpu"):
        with torch.device(device):
            learner = new("bison", calibration=3, backbone=None, filters=2)
            learner.observe(x[:23], y[:23])
            learner.test_then_train(x[23:], y[23:])
            learner.save(path := tmp_path / device)
            loaded = Learner.load(path)
            loaded.observe(x, y)
            loaded.forget(labels=y[:1])
            found.append((everything(loaded), loaded.predict_proba(x).tolist(), loaded.metrics))
            loaded.export(tmp_path / f"{device}.onnx")
            assert learner.memory.labels
    (one, *answers), (other, *others) = found
    assert same(one, other)
    assert answers == others
    assert (tmp_path / "meta.onnx").read_bytes() == (tmp_path / "cpu.onnx").read_bytes()


def test_probabilities_have_a_column_for_each_learned_label() -> None:
    learner = trained()
    learner.observe(images(torch.arange(2)), ["lynx", "mole"])
    before = learner.labels
    assert "lynx" not in before
    assert learner.predict_proba(images(torch.arange(1))).shape == (1, len(before))
    learner.flush()
    assert learner.labels == [*before, "lynx", "mole"]
    assert learner.predict_proba(images(torch.arange(1))).shape == (1, len(before) + 2)


def test_a_loss_that_is_not_finite_is_said_once(tmp_path: Path) -> None:
    """At the next pause, for reading it would make every step wait for a GPU."""
    x, y = herd(60)
    for pause in ("predict", "save", "new_task"):
        learner = new("er", lr=1e30)
        learner.observe(x, y)
        arguments = {"predict": (x,), "save": (tmp_path / "lost",)}.get(pause, ())
        with (
            pytest.warns(UserWarning, match="steps were refused.*not finite.*lower lr") as said,
            suppress(UserError),
        ):
            getattr(learner, pause)(*arguments)
        assert [one.filename for one in said] == [__file__]
        with suppress(UserError):
            learner.predict(x)  # a second warning would be an error


@pytest.mark.filterwarnings("ignore:.*steps were refused")
@pytest.mark.parametrize("name", ["er", "bison"])
def test_nothing_is_predicted_by_lost_weights(name: str, tmp_path: Path) -> None:
    learner = new(name, lr=1e30)
    x, y = herd(40)
    learner.observe(x, y)
    asked: list[Any] = [
        learner.predict,
        learner.predict_proba,
        learner.predict_with_confidence,
        lambda x: learner.score(x, y),
        lambda x: learner.export(tmp_path / "model.pt2"),
    ]
    for ask in asked:
        with pytest.raises(UserError, match=r"scores are not finite.*with a lower lr"):
            ask(x)
    assert learner.test_then_train(x[:3], y[:3]) == [None] * 3


class Faulty(nn.Module):
    """A backbone that fails in one of its passes of training."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = backbone()

    def forward(self, x: Tensor) -> Tensor:
        if self.training and LEFT:
            LEFT[0] -= 1
            if LEFT[0] < 0:
                LEFT.clear()
                raise RuntimeError("out of memory")
        found: Tensor = self.inner(x)
        return found


LEFT: list[int] = []
"""passes of a Faulty backbone until it fails once; empty: it never does"""


@pytest.mark.parametrize(
    ("call", "passes"),
    [*(("observe", n) for n in range(4)), ("flush", 1), ("new_task", 1)],
)
@pytest.mark.parametrize("name", ["bison", "er", "mir"])
def test_a_call_that_fails_leaves_the_learner_as_it_was(
    name: str, call: str, passes: int, tmp_path: Path
) -> None:
    """On the first image of a new class, with which a task begins; the retry is as good."""
    disturbed, other = (new(name, backbone=Faulty(), task_gap=3) for _ in range(2))
    x, y = images(torch.full((24,), 9), seed=9), [*"aaaabbbbccccdddd", *"efghijkl"]
    for learner in (disturbed, other):
        for _ in range(4):
            learner.observe(*herd(10))
        learner.observe(x[:6], y[:6])
        labels = learner.labels  # which takes the snapshot that files hold
    calls: dict[str, tuple[Any, ...]] = {"observe": (x[6:], y[6:])}
    before = on_disk(disturbed, tmp_path / "before")
    rows = snapshot(state(disturbed).memory)
    LEFT.append(passes)
    try:
        with pytest.raises(RuntimeError, match="out of memory"):
            getattr(disturbed, call)(*calls.get(call, ()))
    finally:
        LEFT.clear()
    assert disturbed.labels == labels
    assert len(disturbed._training.waiting) == 6
    assert same(rows, snapshot(state(disturbed).memory))
    after = on_disk(disturbed, tmp_path / "after")
    assert before[1] == after[1]
    assert same(before[0], after[0])
    for learner in (disturbed, other):
        getattr(learner, call)(*calls.get(call, ()))
        learner.flush()
        assert state(learner).task == 1 + (call == "new_task")
    found, wanted = (on_disk(one, tmp_path / "end") for one in (disturbed, other))
    assert found[1] == wanted[1]
    assert same(found[0], wanted[0])


def test_a_test_that_fails_leaves_no_prediction_of_steps_that_are_undone() -> None:
    learner = new("er", backbone=Faulty())
    x, y = herd(60)
    learner.observe(x[:20], y[:20])
    before = learner.predict_proba(x)
    LEFT.append(2)
    try:
        with pytest.raises(RuntimeError, match="out of memory"):
            learner.test_then_train(x[20:], y[20:])
    finally:
        LEFT.clear()
    assert np.array_equal(learner.predict_proba(x), before)


def test_images_that_a_later_step_refuses_cost_nothing_that_was_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = trained(n=43)
    before = everything(learner)

    def refuse(*_: Any) -> None:
        raise UserError("these images")

    monkeypatch.setattr(Eager, "step", refuse)
    with pytest.raises(UserError, match="these images"):
        learner.flush()
    assert same(before, everything(learner))
    assert len(learner._training.waiting) == 3


def test_images_that_no_step_can_take_do_not_decide_about_later_ones() -> None:
    learner = new("ocm", backbone=None, filters=1)
    learner.observe(np.zeros((5, 8, 12, 3), np.uint8), range(5))
    with pytest.raises(UserError, match="8x12 cannot be rotated: make them square"):
        learner.observe(np.zeros((5, 8, 12, 3), np.uint8), range(5))
    learner.observe(images(torch.arange(10)), ["a", "b"] * 5)
    assert learner.labels == ["a", "b"]
    with pytest.raises(UserError, match="9x9, earlier ones 8x8"):
        learner.observe(np.zeros((1, 9, 9, 3), np.uint8), ["a"])


def test_a_first_call_that_fails_does_not_decide_about_later_ones() -> None:
    learner = Learner("bison", memory=10**6, filters=4)
    with pytest.warns(UserWarning, match="image_size="), pytest.raises(UserError, match="no room"):
        learner.observe(np.zeros((1, 2000, 2000, 3), np.uint8), [1])
    learner.observe(np.zeros((10, 4, 4, 3), np.uint8), [1] * 10)
    assert learner.labels == [1]

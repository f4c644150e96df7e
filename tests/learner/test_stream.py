"""A learner in service: tested, then trained; asked while it learns; saved amid a batch."""

from __future__ import annotations

import threading
import time
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from bison_ocl import Learner
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.files import checkpoint
from bison_ocl.learner import predicting
from bison_ocl.learner.calibration import by_rule
from bison_ocl.learner.predicting import spacing
from bison_ocl.learner.prequential import WINDOW, Prequential
from bison_ocl.learner.schedule import is_due
from bison_ocl.learner.snapshot import Snapshot
from bison_ocl.learner.training import Training
from bison_ocl.threads import Lock
from tests.learners import backbone, everything, herd, new, state
from tests.tiny import images, same

# --- test, then train ---


def test_testing_first_changes_nothing_of_what_is_learned() -> None:
    tested, observed = new(), new()
    x, y = herd(57)
    predicted = tested.test_then_train(x, y)
    observed.observe(x, y)
    assert same(everything(tested), everything(observed))
    assert len(tested._training.waiting) == 7
    assert predicted[:10] == [None] * 10
    assert None not in predicted[10:]


def test_every_image_is_predicted_by_what_was_learned_before_it() -> None:
    learner, other = new(refresh=1), new(refresh=1)
    x, y = herd(40)
    predicted = learner.test_then_train(x, y)
    for start in range(0, 40, 10):
        part = slice(start, start + 10)
        assert predicted[part] == (other.predict(x[part]) if start else [None] * 10)
        other.observe(x[part], y[part])


def test_metrics_count_what_was_tested() -> None:
    learner = new()
    assert (learner.metrics.accuracy, learner.metrics.recent, learner.metrics.loss) == (None,) * 3
    x, y = herd(43)
    predicted = learner.test_then_train(x, y)
    found = learner.metrics
    hits = [guess == label for guess, label in zip(predicted, y, strict=True)]
    assert found.accuracy == found.recent == sum(hits) / 43
    for label in set(y):
        of_label = [hit for hit, one in zip(hits, y, strict=True) if one == label]
        assert found.by_label[label] == sum(of_label) / len(of_label)
    assert (found.steps, found.waiting, found.counts.images) == (4, 3, 43)
    assert found.loss is not None
    assert np.isfinite(found.loss)
    learner.observe(x, y)
    assert learner.metrics.counts == found.counts


def test_recent_accuracy_is_that_of_a_window() -> None:
    counts = Prequential().counted(["a"] * 10, ["a"] * 10).counted(["a"] * WINDOW, ["b"] * WINDOW)
    assert counts.recent == 0
    assert counts.accuracy == 10 / (WINDOW + 10)


def test_the_score_is_the_share_of_right_predictions() -> None:
    learner = new("er")
    x, y = herd(40)
    learner.observe(x, y)
    wanted = np.mean([guess == label for guess, label in zip(learner.predict(x), y, strict=True)])
    assert learner.score(x, y) == pytest.approx(wanted)
    with pytest.raises(UserError, match="40 images but 3 labels"):
        learner.score(x, y[:3])


def test_unsure_predictions_are_none() -> None:
    learner = new("er")
    x, y = herd(40)
    learner.observe(x, y)
    sure = learner.predict_proba(x).max(1)
    middle = float(np.median(sure))
    found = learner.predict(x, reject_below=middle)
    assert [one is None for one in found] == (sure < middle).tolist()
    assert None in found
    assert set(found) - {None} <= set(learner.labels)


def test_a_learner_can_be_looked_at() -> None:
    learner = new("er", memory=20)
    assert repr(learner) == "<Learner er: 0 classes, 0 steps, 0 of 20 images kept, cpu>"
    learner.test_then_train(*herd(33))
    assert repr(learner) == "<Learner er: 4 classes, 3 steps, 20 of 20 images kept, cpu>"
    assert "3 images waiting" in learner.summary()
    assert "20 of 20 images" in learner.summary()
    assert f"{learner.metrics.accuracy:.1%} of 33" in learner.summary()
    learner = new("er", memory=20)
    learner.observe(herd(10)[0], ["ox"] * 10)
    assert repr(learner) == "<Learner er: 1 class, 1 step, 10 of 20 images kept, cpu>"
    assert "right={" in repr(learner.metrics)
    assert "False, False" not in repr(learner.metrics)  # of the last 1,000 images


# --- snapshots ---


def fresh_scores(learner: Learner, x: Any) -> Any:
    engine, me = Engine(learner.method), state(learner)
    scores = engine.scores(me, engine.summarise(me), x)[:, : len(learner.labels)]
    return (scores / by_rule(learner.method, None)).softmax(1)


def test_images_of_refused_steps_are_not_counted_as_kept() -> None:
    learner = new("er", lr=1e30)
    learner.observe(*herd(40))
    stored = len(learner.memory)
    assert 0 < stored < 20
    assert f"{stored} of 20 images kept" in repr(learner)
    assert f"memory    {stored} of 20 images" in learner.summary()


def test_with_refresh_1_predictions_are_of_the_last_step() -> None:
    learner, (x, y) = new(refresh=1), herd(60)
    for start in range(0, 60, 10):
        learner.observe(x[start : start + 10], y[start : start + 10])
        found = torch.from_numpy(learner.predict_proba(x))
        assert torch.equal(found, fresh_scores(learner, x))


def test_a_head_predicts_by_the_last_step_whatever_refresh_says() -> None:
    learner, (x, y) = new("er", refresh=1000), herd(60)
    for start in range(0, 60, 10):
        learner.observe(x[start : start + 10], y[start : start + 10])
        found = torch.from_numpy(learner.predict_proba(x))
        assert torch.equal(found, fresh_scores(learner, x))


def test_class_means_may_be_a_few_steps_old_but_know_a_new_class_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(predicting, "affordable", lambda *_: inf)
    learner, (x, y) = new(refresh=4), herd(200, classes=2)
    learner.observe(x[:20], y[:20])
    taken = []
    for start in range(20, 200, 10):
        learner.observe(x[start : start + 10], y[start : start + 10])
        learner.predict(x[:1])
        assert learner._predicting.snapshot is not None
        taken.append(learner._predicting.snapshot.step)
    assert taken == [3] * 4 + [7] * 4 + [11] * 4 + [15] * 4 + [19] * 2
    learner.observe(images(torch.full((10,), 2)), ["new"] * 10)
    assert "new" in learner.labels


def snapshot_at(step: int) -> Snapshot:
    return Snapshot(None, None, None, None, (), (), step)  # type: ignore[arg-type]


def test_soon_after_a_new_class_snapshots_are_taken_often() -> None:
    at, news, taken = 100, 100, []
    for step in range(100, 200):
        if step == 100 or is_due(step, snapshot_at(at), news, spacing=20):
            at = step
            taken.append(step)
    assert taken == [100, 101, 103, 109, 127, 147, 167, 187]


def test_a_snapshot_is_renewed_when_it_costs_no_more_than_the_steps_since() -> None:
    learner, (x, y) = new(memory=250), herd(400, classes=2)
    taken = []
    for start in range(0, 400, 10):
        learner.observe(x[start : start + 10], y[start : start + 10])
        learner.predict(x[:1])
        assert learner._predicting.snapshot is not None
        taken.append(learner._predicting.snapshot.step)
    # A step of BISON learns from 40 images and costs 120 passes.
    assert taken[:14] == [*range(1, 13), 12, 14], "every step until there are 120 images"
    assert taken[-7:] == [33, 33, 36, 36, 36, 39, 39], "every third at 250"


@pytest.mark.parametrize(
    ("name", "options", "steps"),
    [
        ("bison", {}, 9),
        ("bison", {"stream_batch": 20, "buffer_batch": 40}, 3),
        ("bison", {"rule": "ncm-mirror"}, 17),
        ("bison", {"backbone": nn.Flatten()}, 25),
        ("bison", {"backbone": backbone()}, 9),
        ("bison", {"refresh": 5}, 5),
        ("er", {}, 1),
        ("er", {"rule": "ncm"}, 9),
        ("onpro", {}, 1),
        ("gdumb", {}, 50),
    ],
)
def test_steps_that_cost_as_much_as_a_snapshot(
    name: str, options: dict[str, Any], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 1,000 images, for a step that learns from 40 and so costs 120 passes of an image."""
    monkeypatch.setattr(Training, "filled", 1000)
    assert spacing(Learner(name, **{"refresh": 50} | options)._training) == steps


def test_a_snapshot_shares_no_row_of_the_memory() -> None:
    learner, (x, y) = new(), herd(60)
    learner.observe(x, y)
    before = learner.predict_proba(x)
    kept = learner._predicting.snapshot
    assert kept is not None
    assert kept.me.memory.capacity == 0
    state(learner).memory.x.zero_()
    assert np.array_equal(kept.probabilities(kept.scores(x)).numpy(), before)


def test_a_prediction_does_not_wait_for_learning() -> None:
    learner, (x, y) = new(), herd(60)
    learner.observe(x, y)
    wanted = learner.predict(x)
    learner.observe(*herd(300, seed=1))
    with learner._lock:  # as while another thread learns
        found: list[Any] = []
        asking = threading.Thread(target=lambda: found.append(learner.predict(x)))
        asking.start()
        asking.join(60)
        assert found == [wanted]
        assert learner._predicting.asked
    learner.observe(*herd(10, seed=2))
    assert learner._predicting.snapshot is not None
    assert learner._predicting.snapshot.step == learner._training.steps


@pytest.mark.parametrize("name", ["bison", "er"])
def test_the_first_prediction_waits_for_a_step_not_for_the_whole_call(name: str) -> None:
    """The snapshot that it asks for is taken while the other thread is still learning."""
    learner, (x, y) = new(name), herd(60)
    learner.observe(x[:20], y[:20])
    found: list[Any] = []
    with learner._lock:  # as while another thread learns
        asking = threading.Thread(target=lambda: found.append(learner.predict(x)))
        asking.start()
        late = time.monotonic() + 20
        while not learner._predicting.asked and time.monotonic() < late:
            time.sleep(0.001)
        learner.observe(x[20:30], y[20:30])
        asking.join(20)
        assert found == [learner.predict(x)]


def test_the_first_prediction_of_nothing_learned_ends_with_the_call() -> None:
    learner, (x, y) = new(), herd(4)
    found: list[UserError] = []

    def ask() -> None:
        with pytest.raises(UserError, match="nothing has been learned yet") as caught:
            learner.predict(x)
        found.append(caught.value)

    with learner._lock:
        asking = threading.Thread(target=ask)
        asking.start()
        learner.observe(x, y)
    asking.join(60)
    assert found


# --- files ---


def test_a_file_keeps_images_that_wait_and_what_was_counted(tmp_path: Path) -> None:
    x, y = herd(57)
    learner, whole = new("er", refresh=7), new("er", refresh=7)
    learner.test_then_train(x[:27], y[:27])
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd", backbone=backbone())
    assert loaded.metrics.counts == learner.metrics.counts
    assert (loaded._training.arguments.refresh, len(loaded._training.waiting)) == (7, 7)
    loaded.test_then_train(x[27:], y[27:])
    whole.test_then_train(x, y)
    assert same(everything(loaded), everything(whole))
    assert loaded.metrics.counts == whole.metrics.counts


def test_a_file_of_images_that_only_wait(tmp_path: Path) -> None:
    learner = new(backbone=None, filters=2)
    learner.observe(*herd(4))
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd")
    with pytest.raises(UserError, match="nothing has been learned yet: 6 more images complete"):
        loaded.predict(herd(1)[0])
    loaded.observe(*herd(5))
    with pytest.raises(UserError, match="nothing has been learned yet: 1 more image completes"):
        loaded.predict(herd(1)[0])
    loaded.flush()
    assert state(loaded).step == 1


@pytest.mark.parametrize(
    "forge",
    [
        lambda tensors, header: header.update(waiting=["a"] * 4),
        lambda tensors, header: header.update(waiting=7),
        lambda tensors, header: tensors.update({"waiting.x": torch.zeros(3, 3, 8, 8)}),
        lambda tensors, header: tensors.pop("waiting.x"),
        lambda tensors, header: header["counts"].update(hits="2"),
        lambda tensors, header: header["counts"].update(by_label=[["a", 1, 2]]),
        lambda tensors, header: header["counts"].update(by_label=[["a"]]),
        lambda tensors, header: header["counts"].update(nameless=[1, 2]),
        lambda tensors, header: header["counts"].update(nameless=[1]),
        lambda tensors, header: header.update(refresh=0),
        lambda tensors, header: header.update(steps_without_news=99),
    ],
)
def test_forged_waiting_images_and_counts_are_refused(forge: Any, tmp_path: Path) -> None:
    learner = new(backbone=None, filters=2)
    learner.test_then_train(*herd(13))
    learner.save(tmp_path / "herd")
    tensors, header = checkpoint.read(tmp_path / "herd")
    forge(tensors, header)
    checkpoint.write(tmp_path / "forged", tensors, header)
    with pytest.raises(UserError) as caught:
        Learner.load(tmp_path / "forged")
    assert "\n" not in str(caught.value)


def test_a_snapshot_that_is_dropped_meanwhile_still_answers() -> None:
    """`new_task` replaces the snapshot while another thread predicts."""
    learner, (x, y) = new(), herd(60)
    learner.observe(x, y)
    wanted = learner.predict(x)
    dropped = learner._predicting.snapshot

    class Dropping(Lock):
        def acquire(self, timeout: float) -> bool:
            learner._predicting.snapshot = None
            return False

    learner._lock = Dropping()
    assert learner.predict(x) == wanted
    assert dropped is not None


def test_predictions_do_not_wait_for_the_end_of_a_task() -> None:
    learner, (x, y) = new(), herd(60)
    learner.observe(x, y)
    learner.predict(x)
    learner.observe(*herd(10, seed=1))
    learner.new_task()
    assert learner._predicting.snapshot is not None
    assert learner._predicting.snapshot.step == learner._training.steps

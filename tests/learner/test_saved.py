"""A file keeps the snapshot in use: the loaded learner predicts what the saved one did."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bison_ocl import Learner, UserError
from bison_ocl.files import checkpoint
from bison_ocl.learner import predicting
from tests.learners import herd, quick_settings

CASES: dict[str, dict[str, Any]] = {
    "bison": {},
    "bison-ald": {},
    "scr": {},
    "er": {"rule": "ld-mirror", "average": 0.9},
    "gdumb": {},
}
"""methods whose predictions read a summary of the memory"""


@pytest.fixture(autouse=True)
def dear_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """As over a large memory: a snapshot serves until it is `refresh` steps old."""
    monkeypatch.setattr(predicting, "affordable", lambda *_: inf)


def asked(name: str, **options: Any) -> Learner:
    """A learner whose snapshot is older than its last steps, but not too old."""
    learner = Learner(name, memory=20, **quick_settings(name), **CASES[name], **options)
    learner.observe(*herd(60))
    learner.predict(herd(1)[0])
    learner.observe(*herd(37, seed=1))
    snapshot = learner._predicting.snapshot
    assert snapshot is not None
    assert snapshot.step < learner._training.steps
    return learner


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("now", [False, True])
def test_a_loaded_learner_predicts_what_the_saved_one_did(
    name: str, now: bool, tmp_path: Path
) -> None:
    learner, (x, _) = asked(name), herd(30, seed=2)
    if now:
        learner._predicting.renew(learner._training)
    before = learner.predict_proba(x)
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd")
    assert np.array_equal(loaded.predict_proba(x), before)
    assert np.array_equal(learner.predict_proba(x), before)
    names = checkpoint.read(tmp_path / "herd")[0]
    assert any(name.startswith("snapshot.summary.") for name in names)
    assert any(name.startswith("snapshot.state.") for name in names) is not now
    for one in (learner, loaded):
        one.observe(*herd(60, seed=3))
    assert np.array_equal(loaded.predict_proba(x), learner.predict_proba(x))


@pytest.mark.parametrize("loss", [None, 6.5, nan])
def test_the_last_loss_is_kept(loss: float | None, tmp_path: Path) -> None:
    learner = asked("bison")
    learner._training.loss = None if loss is None else torch.tensor(loss)
    learner.save(tmp_path / "herd")
    assert repr(Learner.load(tmp_path / "herd").metrics.loss) == repr(loss)


def test_a_snapshot_that_is_due_is_not_kept(tmp_path: Path) -> None:
    learner = asked("bison", refresh=2)
    learner.save(tmp_path / "herd")
    assert not any(name.startswith("snapshot") for name in checkpoint.read(tmp_path / "herd")[0])
    x, _ = herd(30, seed=2)
    loaded = Learner.load(tmp_path / "herd")
    assert np.array_equal(loaded.predict_proba(x), learner.predict_proba(x))


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("snapshot.summary.means"),
        lambda tensors: tensors.update({"snapshot.summary.means": torch.zeros(3)}),
        lambda tensors: tensors.update({"snapshot.state.more": torch.zeros(3)}),
    ],
)
def test_a_snapshot_of_another_form_is_taken_anew(change: Any, tmp_path: Path) -> None:
    learner, (x, _) = asked("bison"), herd(30, seed=2)
    learner.save(tmp_path / "herd")
    tensors, header = checkpoint.read(tmp_path / "herd")
    change(tensors)
    checkpoint.write(tmp_path / "herd", tensors, header)
    learner._predicting.renew(learner._training)
    loaded = Learner.load(tmp_path / "herd")
    assert np.array_equal(loaded.predict_proba(x), learner.predict_proba(x))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"snapshot": {"step": 99}}, "99 for 'step'"),
        ({"snapshot": 3}, "3 for 'snapshot'"),
        ({"numbers": [0, 1, 2, 2]}, "for 'numbers'"),
        ({"numbers": [0, 1, 2, 99]}, "99 for 'numbers'"),
        ({"numbers": [0, 1, 2, 4]}, "for 'labels'"),
        ({"loss": "low"}, "'low' for 'loss'"),
        ({"schema": "new"}, "'new' for 'schema'"),
        ({"schema": 3}, "written by a later version of bison-ocl: update yours"),
    ],
)
def test_impossible_values_are_refused(said: Any, message: str, tmp_path: Path) -> None:
    asked("bison").save(tmp_path / "herd")
    tensors, header = checkpoint.read(tmp_path / "herd")
    checkpoint.write(tmp_path / "herd", tensors, header | said)
    with pytest.raises(UserError, match=message):
        Learner.load(tmp_path / "herd")

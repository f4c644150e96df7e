"""A saved learner goes on as if never saved; loading one runs no code."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from bison_ocl import Learner, UserError
from bison_ocl.methods import METHODS
from tests.learners import (
    backbone,
    everything,
    feed,
    herd,
    new,
    quick,
    quick_settings,
    state,
    trained,
)
from tests.tiny import images, same


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("own", [True, False])
def test_a_saved_learner_goes_on_as_if_never_saved(name: str, own: bool, tmp_path: Path) -> None:
    module, settings = (backbone() if own else None), quick_settings(name)
    if own:
        del settings["filters"]
    learner = trained(name, n=27, backbone=module, seed=5, **settings)
    learner.save(tmp_path / "herd.safetensors")
    again = backbone(9) if own else None
    loaded = Learner.load(tmp_path / "herd.safetensors", backbone=again)
    assert same(everything(learner), everything(loaded))
    assert learner.labels == loaded.labels
    for one in (learner, loaded):
        one.observe(*herd(25, classes=8, seed=2))
        one.flush()
    assert same(everything(learner), everything(loaded))
    x, _ = herd(9, seed=3)
    assert learner.predict(x) == loaded.predict(x)
    assert np.array_equal(learner.predict_proba(x), loaded.predict_proba(x))


def test_saving_keeps_settings_boundaries_and_limits(tmp_path: Path) -> None:
    x, y = herd(40)
    learner = new("bison", beta=0.3, lambda_=2, task_gap=7, classes=5, backbone=None, filters=2)
    learner.observe(x, y)
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd")
    assert loaded.method == learner.method
    assert loaded._training.task_gap == 7
    assert (
        loaded._training.steps - loaded._training.new_class_at
        == learner._training.steps - learner._training.new_class_at
        > 0
    )
    assert state(loaded).closed is True
    with pytest.raises(UserError, match="class 6 of 5"):
        loaded.observe(images(torch.arange(6)), list("abcdef"))


def test_boundaries_that_were_told_stay_told_after_loading(tmp_path: Path) -> None:
    learner = quick(task_gap=1)
    feed(learner, 0)
    learner.new_task()
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd", backbone=backbone())
    feed(loaded, 1, 1, 1, 2)
    assert state(loaded).task == 1
    assert state(loaded).later is True


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("dump", [pickle.dump, torch.save])
def test_loading_runs_no_code(dump: Callable[..., None], tmp_path: Path) -> None:
    with open(tmp_path / "trap", "wb") as file:
        dump({"net": Bomb(tmp_path / "boom")}, file)
    with pytest.raises(UserError, match="not a bison-ocl file"):
        Learner.load(tmp_path / "trap")
    assert not (tmp_path / "boom").exists()


def test_loading_never_unpickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained().save(tmp_path / "herd")
    Learner.load(tmp_path / "herd", backbone=backbone())  # torch imports what it needs for it

    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("unpickled")

    for module, name in (
        (pickle, "load"),
        (pickle, "loads"),
        (pickle, "Unpickler"),
        (torch, "load"),
    ):
        monkeypatch.setattr(module, name, forbidden)
    assert Learner.load(tmp_path / "herd", backbone=backbone()).labels


def test_loading_needs_the_backbone_it_was_saved_with(tmp_path: Path) -> None:
    trained().save(tmp_path / "own")
    trained(backbone=None, filters=2).save(tmp_path / "standard")
    with pytest.raises(UserError, match=r"give load\(..., backbone=...\)"):
        Learner.load(tmp_path / "own")
    with pytest.raises(UserError, match="leave backbone out"):
        Learner.load(tmp_path / "standard", backbone=backbone())
    other = nn.Sequential(nn.Flatten(), nn.Linear(192, 24))
    with pytest.raises(UserError, match="does not fit"):
        Learner.load(tmp_path / "own", backbone=other)

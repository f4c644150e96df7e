"""Backbones of the caller's: frozen ones, and images normalised for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from bison_ocl import Learner, UserError
from tests.learners import backbone, everything, herd, state
from tests.tiny import same, snapshot

NORMALISE = ((0.4, 0.5, 0.6), (0.2, 0.2, 0.3))


def frozen() -> nn.Module:
    return backbone().requires_grad_(False)


@pytest.mark.parametrize(
    "name", ["bison", "er", "gdumb", "gss", "lode", "mir", "ocm", "scr", "ssil"]
)
def test_only_heads_of_a_frozen_backbone_train(name: str, tmp_path: Path) -> None:
    quick = {"epochs": 1} if name == "gdumb" else {}
    learner = Learner(name, memory=20, backbone=frozen(), normalise=NORMALISE, **quick)
    learner.observe(*herd(60))
    learner.new_task()
    learner.observe(*herd(25, seed=1))
    net = state(learner).net
    assert net.params["backbone"] == {}
    assert same(net.stats, snapshot(frozen().state_dict()))
    x, y = herd(40, seed=2)
    assert learner.score(x, y) > 0.3
    learner.save(tmp_path / "herd")
    with pytest.raises(UserError, match=r"give load\(..., backbone=...\)"):
        Learner.load(tmp_path / "herd")
    again = Learner.load(tmp_path / "herd", backbone=frozen())
    assert again._training.arguments.normalise == NORMALISE
    for one in (learner, again):
        one.observe(*herd(30, seed=3))
    assert same(everything(learner), everything(again))
    assert np.array_equal(learner.predict_proba(x), again.predict_proba(x))


@pytest.mark.parametrize("saved", [True, False])
def test_frozen_and_trainable_backbones_are_told_apart(saved: bool, tmp_path: Path) -> None:
    learner = Learner("er", memory=20, backbone=backbone().requires_grad_(saved))
    learner.observe(*herd(20))
    learner.save(tmp_path / "herd")
    message = "saved with a .* backbone, this one is .*: freeze the same parameters as when it was"
    with pytest.raises(UserError, match=message):
        Learner.load(tmp_path / "herd", backbone=backbone().requires_grad_(not saved))


def test_a_module_without_parameters_is_a_backbone_too() -> None:
    learner = Learner("bison", memory=20, backbone=nn.Flatten())
    learner.observe(*herd(60))
    assert learner.score(*herd(40, seed=1)) > 0.9


def test_normalising_changes_what_the_network_sees() -> None:
    one, other = (
        Learner("er", memory=20, backbone=backbone(), normalise=n) for n in (None, NORMALISE)
    )
    for learner in (one, other):
        learner.observe(*herd(20))
    assert not same(everything(one), everything(other))
    assert torch.equal(state(one).memory.x, state(other).memory.x)


@pytest.mark.parametrize(
    "wrong",
    [
        0.5,
        ((0, 0, 0),),
        ((0, 0), (1, 1)),
        ((0, 0, 0), (1, 1, 0)),
        ((0, 0, np.nan), (1, 1, 1)),
        "ab",
    ],
)
def test_numbers_that_normalise_nothing_are_refused(wrong: Any) -> None:
    with pytest.raises(UserError, match=r"^normalise=.*three numbers each"):
        Learner("er", backbone=backbone(), normalise=wrong)
    with pytest.raises(UserError, match="normalise is for backbone"):
        Learner("er", normalise=NORMALISE)

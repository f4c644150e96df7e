"""Heads that grow compute as heads born large, and move no known row."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

import bison_ocl.learner.origin
import bison_ocl.learner.training
from bison_ocl import Learner, tree
from bison_ocl.engine.step import Engine
from bison_ocl.learner.growth import grown
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from tests.learners import everything, new, quick_settings, state, trained
from tests.tiny import begin, images, same, stream


@pytest.mark.parametrize("name", sorted(METHODS))
def test_grown_heads_step_as_heads_born_large(name: str) -> None:
    method = configured(name, None, {})
    engine = Engine(method)
    me = begin(method, classes=8, closed=False)
    blank = begin(method, classes=16, closed=False)
    for batch in (batch for task in stream(classes=8, tasks=2) for batch in task):
        large = tree.map_leaves(torch.clone, grown(me, blank))
        large, _ = engine.step(large, batch)
        me, _ = engine.step(me, batch)
        if me.average is not None:  # one vector, which has no corner
            average = grown(me, blank).average
            torch.testing.assert_close(large.average, average, rtol=1e-10, atol=1e-13)
        seen, fresh, start = (tree.named(replace(one, average=None)) for one in (me, large, blank))
        for path, value in seen.items():
            corner = fresh[path][tuple(slice(0, n) for n in value.shape)]
            torch.testing.assert_close(corner, value, rtol=1e-10, atol=1e-13, msg=path)
            if value.shape[:1] != fresh[path].shape[:1]:  # a row a class: unseen ones rest
                assert torch.equal(fresh[path][8:], start[path][8:]), path


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_learner_that_grew_equals_one_with_room(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    precise = partial(first_state, dtype=torch.float64)
    monkeypatch.setattr(bison_ocl.learner.origin, "first_state", precise)
    learners = []
    for rows in (2, 16):
        monkeypatch.setattr(bison_ocl.learner.training, "FIRST_CAPACITY", rows)
        learner = new(name, backbone=None, filters=1)
        for first in range(0, 12, 3):
            y = first + torch.arange(10) % 3
            learner.observe(images(y, seed=first), y.tolist())
        learners.append(learner)
    assert [state(learner).classes for learner in learners] == [16, 16]
    one, other = map(everything, learners)
    for path, value in one.items():
        torch.testing.assert_close(other[path], value, rtol=1e-6, atol=1e-8, msg=path)


def test_heads_double() -> None:
    learner, sizes = new(), []
    for first in range(0, 20, 5):
        y = first + torch.arange(10) % 5
        learner.observe(images(y % 8), y.tolist())
        sizes.append(state(learner).classes)
    assert sizes == [8, 16, 16, 32]
    assert state(learner).table.tolist() == [0] * 20 + [-1] * 12


def test_growing_moves_no_known_row() -> None:
    learner = trained()
    before = state(learner).net.params["stream"]["weight"]
    grown = learner._training.with_room_for(9).me.net.params["stream"]["weight"]
    assert grown.shape[0] == 16
    assert torch.equal(grown[:8], before)
    assert len(grown.unique(dim=0)) == 16


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_learner_of_given_classes_may_be_opened_to_more(name: str, tmp_path: Path) -> None:
    learner = new(name, classes=2, **quick_settings(name), backbone=None)
    y = torch.arange(20) % 2
    learner.observe(images(y), y.tolist())
    learner.save(tmp_path / "herd")
    learner = Learner.load(tmp_path / "herd")
    learner.allow_more_classes()
    before = state(learner).net.params["backbone"]
    y = 2 + torch.arange(20) % 3
    learner.observe(images(y), y.tolist())
    assert learner.labels == [0, 1, 2, 3, 4]
    assert state(learner).classes == 8
    assert state(learner).live.tolist() == [True] * 5 + [False] * 3
    assert not same(before, state(learner).net.params["backbone"]) or name == "gdumb"
    assert set(learner.predict(images(y))) <= set(range(5))
    learner.save(tmp_path / "herd")
    assert same(everything(learner), everything(Learner.load(tmp_path / "herd")))


def test_a_learner_may_be_opened_before_it_has_seen_anything() -> None:
    learner = new("bison", classes=2)
    learner.allow_more_classes()
    y = torch.arange(30) % 3
    learner.observe(images(y), y.tolist())
    assert learner.labels == [0, 1, 2]

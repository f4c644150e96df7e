"""Learners in threads, one learner in several, and copies."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch

from bison_ocl import Learner
from bison_ocl.learner.training import Training
from tests.learners import backbone, everything, herd, in_threads, new, state, trained
from tests.tiny import images, same, snapshot


def test_learners_in_threads_do_not_disturb_each_other() -> None:
    shared = backbone()
    before = snapshot(shared.state_dict())

    def work(seed: int) -> Learner:
        learner = new(backbone=shared, seed=seed)
        for i in range(8):
            learner.observe(*herd(10, seed=100 * seed + i))
            learner.predict(herd(3)[0])
        return learner

    found: dict[int, Learner] = {}

    def keep(seed: int) -> None:
        found[seed] = work(seed)

    in_threads(*(partial(keep, seed) for seed in (1, 2)))
    for seed in (1, 2):
        assert same(everything(work(seed)), everything(found[seed]))
    assert same(before, snapshot(shared.state_dict()))
    assert not same(everything(found[1]), everything(found[2]))


def test_one_learner_can_predict_from_another_thread() -> None:
    learner = trained()
    x, _ = herd(10)
    answers: list[Any] = []
    in_threads(lambda: answers.append(learner.predict(x)))
    assert answers == [learner.predict(x)]


def test_threads_take_turns_in_a_learner() -> None:
    learner = new("finetune", memory=0)

    def observe(name: str) -> None:
        for i in range(30):
            learner.observe(images(torch.arange(3)), [f"{name}{i}"] * 3)

    def predict() -> None:
        for _ in range(20):
            if learner.labels:
                assert np.isfinite(learner.predict_proba(images(torch.arange(2)))).all()

    in_threads(*(partial(observe, name) for name in "abc"), predict)
    learner.flush()
    assert set(learner.labels) == {f"{name}{i}" for name in "abc" for i in range(30)}
    assert state(learner).step >= 27
    assert not learner._training.waiting


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
)
@pytest.mark.parametrize("own", [True, False])
def test_a_copy_of_a_learner_goes_its_own_way(copied: Callable[[Any], Any], own: bool) -> None:
    learner = trained(**({"backbone": backbone()} if own else {"backbone": None, "filters": 2}))
    before, other = everything(learner), copied(learner)
    other.observe(*herd(20, seed=1))
    assert same(before, everything(learner))
    learner.observe(*herd(20, seed=1))
    assert same(everything(other), everything(learner))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_does_not_wait_for_the_original(copied: Callable[[Any], Any]) -> None:
    learner = trained()
    learning = Thread(target=copied(learner).observe, args=herd(10))
    with learner._lock:  # as while another thread learns
        learning.start()
        learning.join(20)
        assert not learning.is_alive()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_predicts_from_the_same_snapshot(copied: Callable[[Any], Any]) -> None:
    learner = new(memory=300)
    learner.observe(*herd(300))
    x, _ = herd(20, seed=1)
    learner.predict(x)
    learner.observe(*herd(10, seed=2))  # not enough steps for a new snapshot
    predicted = copied(learner).predict_proba(x)
    np.testing.assert_array_equal(predicted, learner.predict_proba(x))
    renewed = pickle.loads(pickle.dumps(learner)).predict_proba(x)
    assert np.abs(predicted - renewed).max() > 1e-4  # a pickle holds no snapshot


def test_a_deep_copy_is_of_one_moment_while_another_thread_learns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner, given = trained(), Training.__getstate__
    learning = Thread(target=learner.observe, args=herd(60, seed=1))

    def begun(training: Training) -> dict[str, Any]:
        found = given(training)
        learning.start()
        learning.join(0.5)  # it would learn now, before the tensors are copied
        return found

    before = everything(learner)
    monkeypatch.setattr(Training, "__getstate__", begun)
    twin = copy.deepcopy(learner)
    learning.join()
    assert same(before, everything(twin))
    assert not same(before, everything(learner))


def test_two_pickles_of_a_learner_are_equal() -> None:
    learner = trained()
    assert pickle.dumps(learner) == pickle.dumps(learner)

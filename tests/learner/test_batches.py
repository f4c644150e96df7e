"""Images wait for their batch, whatever the batches of the caller; asking trains nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bison_ocl import Learner
from tests.learners import everything, herd, new, quick_settings, state, trained
from tests.tiny import same


@pytest.mark.parametrize("size", [1, 3, 47])
def test_batch_size_of_the_caller_does_not_matter(size: int) -> None:
    x, y = herd(47)
    learners = []
    for step in (10, size):
        learner = new()
        for i in range(0, len(x), step):
            learner.observe(x[i : i + step], y[i : i + step])
        learner.flush()
        learners.append(learner)
    assert same(*map(everything, learners))
    assert learners[0].labels == learners[1].labels == list(dict.fromkeys(y))
    assert state(learners[1]).step == 5
    assert state(learners[1]).memory.seen == 47


def test_images_wait_for_their_batch_and_are_flushed_on_request() -> None:
    learner = new()
    x, y = herd(13)
    learner.observe(x, y)
    assert state(learner).memory.seen == 10
    assert learner.labels == list(dict.fromkeys(y[:10]))
    learner.flush()
    assert state(learner).memory.seen == 13
    learner.flush()
    assert state(learner).step == 2


QUESTIONS: dict[str, Callable[[Learner, Path], object]] = {
    "predict": lambda learner, _: learner.predict(herd(3)[0]),
    "predict_proba": lambda learner, _: learner.predict_proba(herd(3)[0]),
    "score": lambda learner, _: learner.score(*herd(3)),
    "labels": lambda learner, _: learner.labels,
    "metrics": lambda learner, _: learner.metrics,
    "summary": lambda learner, _: (learner.summary(), repr(learner)),
    "save": lambda learner, folder: learner.save(folder / "herd"),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["bison", "er", "gdumb"])
def test_asking_never_trains(name: str, question: str, tmp_path: Path) -> None:
    learner = new(name, backbone=None, **quick_settings(name))
    learner.observe(*herd(17))
    before = everything(learner)
    QUESTIONS[question](learner, tmp_path)
    assert same(before, everything(learner))
    assert len(learner._training.waiting) == 7
    learner.new_task()
    assert (int(state(learner).step), learner._training.waiting) == (2, [])


def test_images_that_come_one_by_one_with_questions_between_are_learned_in_whole_batches() -> None:
    asked, quiet = new("er"), new("er")
    x, y = herd(60)
    quiet.observe(x, y)
    for image, label in zip(x, y, strict=True):
        asked.observe(image[None], [label])
        if state(asked).step:
            asked.predict(image[None])
    assert state(asked).step == 6
    assert same(everything(asked), everything(quiet))


def test_nothing_to_see_changes_nothing() -> None:
    learner = trained()
    before = everything(learner)
    learner.observe(np.zeros((0, 8, 8, 3), np.uint8), [])
    assert same(before, everything(learner))
    assert learner.predict(np.zeros((0, 8, 8, 3), np.uint8)) == []
    assert learner.predict_proba(np.zeros((0, 8, 8, 3), np.uint8)).shape == (0, 4)


def test_observed_images_may_be_overwritten_by_the_caller() -> None:
    x, y = herd(10)
    one, other = new(), new()
    one.observe(x[:5], y[:5])
    other.observe(reused := x[:5].clone(), y[:5])
    reused.zero_()
    for learner in (one, other):
        learner.observe(x[5:], y[5:])
    assert same(everything(one), everything(other))

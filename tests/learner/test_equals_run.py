"""A learner whose classes are given equals a run, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from bison_ocl import Learner, UserError
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.run import Run
from bison_ocl.memory.memory import ARRIVED
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.state import State
from bison_ocl.stream.class_incremental import class_incremental
from tests.learners import quick_settings, small_data, state
from tests.tiny import images, same, snapshot


def as_in_a_run(me: State) -> State:
    """The state without what only a learner's memory notes: numbers of arrival."""
    fields = {name: value for name, value in me.memory.fields.items() if name != ARRIVED}
    return replace(me, memory=replace(me.memory, fields=fields, uncounted=None))


class Nobody:
    def stepped(self, task: int, step: int) -> None: ...

    def tested(self, task: int, accuracy: float) -> None: ...

    def paused(self, runs: Sequence[Run]) -> None: ...


@pytest.mark.parametrize("name", sorted(METHODS))
def test_with_classes_given_a_learner_equals_run_bit_for_bit(name: str) -> None:
    method = configured(name, None, quick_settings(name))
    memory = 20 if method.replays else 0
    course = class_incremental(small_data(), 3)
    run = Run(Spec(name, "tiny", memory, 3, settings_of(method)), method, course)
    Group([run]).train(Nobody())
    learner = Learner(name, memory=20, seed=3, classes=6, **quick_settings(name))
    data = course.dataset
    for index in course.images:  # 34 images a task: the last batch is short
        for part in torch.split(index, 7):
            learner.observe(data.train.x[part], data.train.y[part])
        learner.new_task()
    assert same(snapshot(run.me), snapshot(as_in_a_run(state(learner))))
    assert learner.labels == list(course.order)
    named = [f"class {i}" for i in learner.predict(data.test.x)]
    assert run.learner().predict(data.test.x) == named


def test_the_model_of_a_run_learns_classes_it_never_had() -> None:
    method = configured("bison", None, quick_settings("bison"))
    course = class_incremental(small_data(), 3)
    run = Run(Spec("bison", "tiny", 20, 3, settings_of(method)), method, course)
    Group([run]).train(Nobody())
    learner, x = run.learner(), images(torch.full((10,), 7))
    with pytest.raises(UserError, match="call allow_more_classes"):
        learner.observe(x, ["bison"] * 10)
    learner.allow_more_classes()
    learner.observe(x, ["bison"] * 10)
    assert learner.labels == [*(f"class {i}" for i in course.order), "bison"]
    assert state(learner).classes == 12

"""Tasks end by steps without a new class, or when the caller says so."""

from __future__ import annotations

import pytest

from tests.learners import feed, herd, new, quick, state, trained


def test_ten_classes_that_arrive_together_are_one_task() -> None:
    learner = quick()
    feed(learner, *[c for c in range(10) for _ in range(20)])
    assert state(learner).task == 0
    assert state(learner).table.tolist() == [0] * 10 + [-1] * 6


@pytest.mark.parametrize(("quiet", "tasks"), [(49, 0), (50, 1)])
def test_fifty_steps_without_news_end_a_task(quiet: int, tasks: int) -> None:
    learner = quick()
    feed(learner, 0, *[0] * quiet, 1, 2)
    assert state(learner).task == tasks
    assert state(learner).table.tolist()[:3] == [0, tasks, tasks]
    assert state(learner).later is bool(tasks)


def test_the_gap_is_a_setting() -> None:
    gapped, never = quick(task_gap=2), quick(task_gap=None)
    for learner in (gapped, never):
        feed(learner, 0, 0, 1, 1, 1, 2, 3)
    assert state(gapped).table.tolist()[:4] == [0, 0, 1, 1]
    assert state(never).task == 0


def test_told_boundaries_replace_the_guessed_ones() -> None:
    learner = quick(task_gap=1)
    feed(learner, 0, 0, 1)
    assert state(learner).task == 1
    learner.new_task()
    feed(learner, 2, 2, 2, 3)
    assert state(learner).table.tolist()[:4] == [0, 1, 2, 2]


def test_a_boundary_resets_what_the_method_resets() -> None:
    learner = trained("bison")
    assert state(learner).net.scalar("a") != 0
    learner.new_task()
    assert state(learner).net.scalar("a") == 0
    assert state(learner).task == 1


def test_new_task_before_the_first_image_is_harmless() -> None:
    learner = new()
    learner.new_task()
    learner.observe(*herd(10))
    assert state(learner).task == 0

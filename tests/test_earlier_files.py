"""Files that commit 6efd875 wrote are still read, and say what they said then."""

from __future__ import annotations

from typing import Any

import pytest

from bison_ocl import Learner
from tests.earlier import (
    LEARNERS,
    RUNS,
    expected,
    learner_file,
    run_file,
    run_of,
    told_by_learner,
    told_by_run,
)

NEAR = {"rel": 1e-4, "abs": 1e-5}
"""machines round differently"""


def near(found: Any, wanted: Any) -> bool:
    """Whether nested lists of numbers agree but for rounding."""
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(near, found, wanted))
    return bool(found == pytest.approx(wanted, **NEAR))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_predicts_what_it_predicted(name: str) -> None:
    path = learner_file(name)
    found, wanted = told_by_learner(Learner.load(path)), expected(path)
    assert near(found.pop("shares"), wanted.pop("shares"))
    assert found == wanted


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_taken_up_where_it_was_left(name: str) -> None:
    path, run = run_file(name), run_of(name)
    run.resume(path)
    found, wanted = told_by_run(run), expected(path)
    assert found["at"] == wanted["at"]
    assert near(found["scores"], wanted["scores"])
    assert near(found["losses"][:8], wanted["losses"][:8])
    assert len(found["accuracy"]) == len(wanted["accuracy"]) == 3
    assert near(found["accuracy"][:1], wanted["accuracy"][:1])


def test_fixtures_stay_small() -> None:
    for path in (*map(learner_file, LEARNERS), *map(run_file, RUNS)):
        assert path.stat().st_size < 200_000

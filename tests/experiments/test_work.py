"""A unit tried in this process: errors become outcomes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bison_ocl.experiments.carry import work
from bison_ocl.experiments.carry.work import attempt
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.train.runner import Job
from tests.made_up import record


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job("er", "split-digits", 20, [0], {}, tmp_path)


def test_bad_input_is_said_without_a_trace(job: Job) -> None:
    outcome = attempt(replace(job, memory=1))
    assert outcome.records == []
    assert "memory 1 is smaller" in (outcome.error or "")
    assert outcome.trace is None


def test_an_error_is_one_line_with_a_trace(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise RuntimeError("no kernel\n  on the device")

    monkeypatch.setattr(work, "run", run)
    outcome = attempt(job)
    assert outcome.error == "RuntimeError: no kernel on the device"
    assert "raise RuntimeError" in (outcome.trace or "")


def test_a_folder_with_something_else_in_it_gives_nothing(job: Job) -> None:
    job.results.write_text("hello\n")
    outcome = attempt(job)
    assert outcome.records == []
    assert "line 1 is not a result" in (outcome.error or "")


def test_of_a_unit_that_fails_the_records_of_its_own_seeds_count(job: Job) -> None:
    for seed in (0, 1):
        records.append(job.results, record(seed=seed))
    assert [one.seed for one in attempt(replace(job, memory=1)).records] == [0]

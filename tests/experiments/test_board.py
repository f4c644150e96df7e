"""What is shown while a plan is carried out: counts, failures, time left."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from bison_ocl.experiments.carry.work import Outcome
from bison_ocl.experiments.records.record import Metrics
from bison_ocl.experiments.terminal import board
from bison_ocl.experiments.terminal.board import Board, showing
from bison_ocl.experiments.train.runner import Job
from tests.made_up import record

RECORD = record(metrics=Metrics(0.432, 0.0, 0.0))


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(board, "time", found)
    return found


def printed(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> io.StringIO:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=200, highlight=False)
    monkeypatch.setattr(board, "console", console)
    return file


def unit(method: str, seed: int) -> Job:
    return Job(method, "split-cifar10", 200, [seed], {}, Path(f"{method}-{seed}"))


def test_lines_tell_what_is_done_and_how_long_the_rest_takes(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, units = printed(monkeypatch, terminal=False), [unit("er", seed) for seed in range(4)]
    with showing(units) as shown:
        for job in units[:2]:
            shown.started(job)
        clock.now = 600
        shown.done(Outcome(units[0], [RECORD]))
        shown.started(units[2])
        clock.now = 700
        shown.done(Outcome(units[1], [], "ValueError: no"))
    one, two = file.getvalue().splitlines()
    assert one == (
        "er  split-cifar10  memory 200  seed 0  AA 43.2 %  10.0 min  "
        "(1 of 4 done, about 20.0 min left)"  # seed 1 is about to end; two more, one at a time
    )
    assert two.startswith("failed: er  split-cifar10  memory 200  seed 1: ValueError: no  (2 of 4")
    assert "1 failed, about 18.3 min left" in two


def test_nothing_is_left_at_the_end(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    file, job = printed(monkeypatch, terminal=True), unit("er", 0)
    with showing([job]) as shown:
        shown.started(job)
        shown.done(Outcome(job, [RECORD]))
    assert "AA 43.2 %  0 s  (1 of 1 done)" in file.getvalue()


def test_time_left_goes_by_cost_not_by_count(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    printed(monkeypatch, terminal=False)
    cheap, dear = unit("finetune", 0), unit("ocm", 0)
    shown = Board([cheap, dear])
    assert shown.seconds_left() is None
    shown.started(cheap)
    clock.now = 100
    shown.done(Outcome(cheap, [RECORD]))
    left = shown.seconds_left()
    assert left is not None
    assert left > 1000


def test_the_live_table_names_what_runs(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    file, job = printed(monkeypatch, terminal=True), unit("bison", 7)
    with showing([job]) as shown:
        shown.started(job)
        clock.now = 30
        board.console.print(shown.picture())
        shown.done(Outcome(job, [RECORD]))
    said = file.getvalue()
    assert "bison  split-cifar10  memory 200  seed 7" in said
    assert "30 s" in said
    assert "1 of 1 done" in said

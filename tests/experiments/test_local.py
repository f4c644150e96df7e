"""Units in processes of this machine: deaths, Ctrl-C and kill -9 cost no finished run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry import local, warm_up, work
from bison_ocl.experiments.carry.work import Outcome
from bison_ocl.experiments.plan.paper import Cell
from bison_ocl.experiments.plan.plan import Wanted, plan
from bison_ocl.experiments.plan.units import job_of
from bison_ocl.experiments.train.runner import Job, Watch
from tests.digits import shrunk, use
from tests.experiments.inline import Carried

SETTINGS = (("filters", "1"), ("stream_batch", "70"))
COMMAND = [
    str(Path(sys.executable).parent / "bison-ocl"),
    *["reproduce", "confusion", "--data", "split-digits", "--methods", "er,bison"],
    *["--seeds", "0", "--processes", "2", "--checkpoint-every", "0.1"],
    *[word for name, value in SETTINGS for word in ("--set", f"{name}={value}")],
]
RESULTS = "confusion/results.jsonl"


def begin(out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "--out", str(out)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def await_work(process: subprocess.Popen[str], out: Path) -> None:
    """Until a unit has saved something since now."""
    since = time.time_ns()
    while process.poll() is None:
        files = list((out / "confusion" / "work").glob("*/checkpoints/*"))
        for path in files:
            try:
                if path.stat().st_mtime_ns > since:
                    return
            except FileNotFoundError:
                pass
        time.sleep(0.002)


def descendants(process: subprocess.Popen[str]) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in listed.read_text().split()] if listed.exists() else []


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_end(pids: list[int]) -> bool:
    """Whether all of these processes are gone within a while."""
    until = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(map(alive, pids))


def results(path: Path) -> dict[str, dict[str, Any]]:
    """All that a repetition must find again, by run; a run that is there twice is an error."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        name = f"{record['method']} {record['seed']}"
        assert name not in found
        told = ("timing", "environment", "commit")
        found[name] = {key: value for key, value in record.items() if key not in told}
    return found


@pytest.mark.slow
def test_killed_at_any_moment_and_begun_again_equals_an_undisturbed_run(tmp_path: Path) -> None:
    broken, generator = tmp_path / "broken", random.Random(time.time_ns())
    moments = [generator.uniform(0, 0.5) for _ in range(3)]
    for moment in moments:
        process = begin(broken)
        await_work(process, broken)
        time.sleep(moment)
        workers = descendants(process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert all_end(workers), "a worker outlived its parent"
    process = begin(broken)
    said = "".join(process.communicate(timeout=300))
    assert process.returncode == 0, said
    whole = Carried(tmp_path / "whole")
    wanted = Wanted([0], ["er", "bison"], ["split-digits"], settings=SETTINGS)
    whole(plan("confusion", wanted))
    assert results(broken / RESULTS) == results(whole.out / RESULTS), f"killed at {moments}"
    assert not (broken / "confusion" / "work").exists()


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_ends_all_processes(tmp_path: Path) -> None:
    process = begin(tmp_path)
    await_work(process, tmp_path)
    workers = descendants(process)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "repeat the command to continue" in said
    assert "Traceback" not in said
    assert all_end(workers)
    assert list((tmp_path / "confusion" / "work").iterdir())


@pytest.mark.slow
def test_ctrl_c_while_processes_begin_is_one_line(tmp_path: Path) -> None:
    process = begin(tmp_path)
    while process.poll() is None and len(descendants(process)) < 2:
        time.sleep(0.01)
    time.sleep(1.0)  # they import torch
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said


def small(method: str, seed: int, out: Path) -> Job:
    cell = Cell(method, "split-digits", 100, SETTINGS)
    return job_of(cell, [seed], out / f"{method}-{seed}")


@pytest.mark.slow
def test_a_process_that_dies_costs_one_unit_and_is_replaced(tmp_path: Path) -> None:
    units = [small("er", seed, tmp_path) for seed in (0, 1)]
    begun: list[str] = []
    outcomes: list[Outcome] = []
    others = set(local.multiprocessing.active_children())  # of tests that ran before in this one

    def started(job: Job) -> None:
        begun.append(job.out.name)
        if len(begun) == 1:
            (victim,) = set(local.multiprocessing.active_children()) - others
            os.kill(victim.pid or 0, signal.SIGKILL)

    local.carry_out(units, started, outcomes.append, processes=1)
    assert begun == ["er-0", "er-1"]
    assert "killed by SIGKILL" in (outcomes[0].error or "")
    assert outcomes[1].error is None
    assert [record.seed for record in outcomes[1].records] == [1]
    assert outcomes[1].records[0].environment.threads == 1
    assert set(local.multiprocessing.active_children()) <= others


def test_data_that_is_missing_is_said_once_before_anything_starts(tmp_path: Path) -> None:
    cells = [Cell("er", f"split-cifar{classes}", 200) for classes in (10, 10, 100)]
    jobs = [job_of(cell, [0], tmp_path, data_dir=tmp_path) for cell in cells]
    begun: list[Job] = []
    with pytest.raises(UserError, match=r"split-cifar10.*split-cifar100") as caught:
        local.carry_out(jobs, begun.append, lambda outcome: None)
    assert str(caught.value).count("CIFAR-10 ") == 1
    assert not begun


def test_a_stream_that_does_not_fit_the_data_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, lambda data: replace(data, classes=9))
    job = job_of(Cell("er", "split-digits", 100, stream="order:confusion"), [0], tmp_path)
    with pytest.raises(UserError, match="the order names class 9"):
        local.open_datasets([job])


@pytest.mark.parametrize(("processes", "share"), [(1, 1.0), (2, 0.5), (9, 0.25)])
def test_processes_that_run_at_once_share_a_gpu(
    processes: int, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Idle:
        def begin(self, job: Job, warm_up: bool) -> Job:
            assert job.share == share
            raise KeyboardInterrupt

        def end(self) -> None:
            pass

    monkeypatch.setattr(local, "Worker", Idle)
    jobs = [small("er", seed, tmp_path) for seed in range(4)]
    with pytest.raises(KeyboardInterrupt):
        local.carry_out(jobs, lambda job: None, lambda outcome: None, processes=processes)


def test_a_warm_up_ends_after_two_tasks_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, shrunk)
    tested: list[int] = []
    tried: list[tuple[Job, Outcome]] = []
    ended = warm_up.TwoTasks.tested

    def noted(watcher: warm_up.TwoTasks, task: int, accuracy: float) -> None:
        tested.append(task)
        ended(watcher, task, accuracy)

    def attempt(job: Job, watch: Watch) -> None:
        tried.append((job, work.attempt(job, watch=watch)))

    monkeypatch.setattr(warm_up.TwoTasks, "tested", noted)
    monkeypatch.setattr(warm_up, "attempt", attempt)
    unit = replace(small("er", 3, tmp_path), seeds=[3, 4])
    warm_up.warm_up_with(unit)
    [(job, outcome)] = tried
    assert tested == [0, 1]
    assert (job.method, list(job.seeds)) == ("er", [3])
    assert (outcome.records, outcome.error) == ([], "Warm: ")
    assert job.out != unit.out
    assert not job.out.exists()
    assert not unit.out.exists()


def test_what_ended_a_process_is_said_in_words() -> None:
    assert local.cause_of_death(3) == "its process ended with status 3"
    assert local.cause_of_death(-11) == "its process was killed by SIGSEGV"
    assert "memory" in local.cause_of_death(-9)

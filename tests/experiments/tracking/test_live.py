"""Trackers see a run while it trains: read by their own readers before the run ends."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry import cluster, local
from bison_ocl.experiments.carry.work import Done, Outcome, Started, attempt, unwatched
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.tracking import Tracker, mlflow, tracked, tracker, wandb
from bison_ocl.experiments.tracking.logged_record import LoggedRecord, logged_record
from bison_ocl.experiments.tracking.run_update import OnUpdate, RunUpdate, update_of, with_updates
from bison_ocl.experiments.train.group import Group
from bison_ocl.experiments.train.runner import Job, run
from tests import made_up
from tests.contract.test_resume import Stop, Watcher, fresh
from tests.digits import shrunk, use
from tests.experiments.test_host import Listener
from tests.experiments.tracking.test_tracking import events, fail, scanned

TASKS = 5


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, shrunk)


def job(out: Path, seeds: Sequence[int] = (3,), **changes: Any) -> Job:
    settings = {"filters": "2", "stream_batch": "20"}
    return replace(Job("er", "split-digits", 20, seeds, settings, out), **changes)


def trained(job: Job, tracking: Tracker, after: OnUpdate) -> list[Record]:
    """Train with a tracker, and look at it after each of its updates."""

    def on_update(update: RunUpdate) -> None:
        tracking.update(update)
        after(update)

    with tracking:
        return run(job, with_updates(unwatched, on_update), lambda _: None, tracking.keep)


def stop_at(count: int) -> Callable[[object], None]:
    """Interrupts the run at its pause of that number."""
    pauses = iter(range(1, TASKS + 1))

    def stop(_: object) -> None:
        if next(pauses) == count:
            raise Stop

    return stop


# --- TensorBoard ---


def test_tensorboard_holds_points_before_the_run_ends_and_the_story_after(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def look(update: RunUpdate) -> None:
        (folder,) = (tmp_path / "tensorboard").glob(f"{update.run}-*")
        found = events(folder)
        assert not (tmp_path / "results.jsonl").exists()
        seen.append((len(found.Scalars("by_task/accuracy")), found.Scalars("loss")[-1].step))

    (record,) = trained(job(tmp_path), tracker("tensorboard", tmp_path, fail), look)
    assert [tasks for tasks, _ in seen] == [1, 2, 3, 4, 5]
    assert [step for _, step in seen] == [14, 28, 42, 56, 70]
    check_tensorboard(tmp_path, [record])


def check_tensorboard(out: Path, records: Sequence[Record]) -> None:
    """One folder per record, with every point of its logged once."""
    logged = {logged_record(record).name: logged_record(record) for record in records}
    folders = {folder.name: folder for folder in (out / "tensorboard").iterdir()}
    assert folders.keys() == logged.keys()
    for name, folder in folders.items():
        for curve, points in logged[name].curves.items():
            found = [(e.step, pytest.approx(e.value)) for e in events(folder).Scalars(curve)]
            assert found == points, curve
        assert events(folder).Scalars("final/AA")
        assert (folder / "record.json").read_text() == logged[name].line


def test_a_resumed_run_has_no_point_twice(tmp_path: Path) -> None:
    tracking = tracker("tensorboard", tmp_path, fail)
    with pytest.raises(Stop):
        trained(job(tmp_path), tracking, stop_at(3))
    (left,) = (tmp_path / "tensorboard").iterdir()
    assert len(events(left).Scalars("by_task/accuracy")) == 3
    again = tracker("tensorboard", tmp_path, fail)
    (record,) = trained(job(tmp_path, resume=True), again, lambda _: None)
    check_tensorboard(tmp_path, [record])


def test_every_seed_of_a_group_is_seen(tmp_path: Path) -> None:
    seen: list[str] = []
    both = job(tmp_path, (0, 1), seeds_at_once=2)
    tracking = tracker("tensorboard", tmp_path, fail)
    records = trained(both, tracking, lambda update: seen.append(update.run))
    assert seen == [record.name for _ in range(TASKS) for record in records]
    check_tensorboard(tmp_path, records)


# --- MLflow and W&B ---


@pytest.mark.slow
def test_mlflow_has_a_running_run_then_a_killed_then_a_finished_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    uri, seen = mlflow.default(tmp_path), []

    def found() -> tuple[str, dict[str, list[tuple[int, float]]]]:
        with mlflow.opened(uri) as (client, where):
            (one,) = client.search_runs([where])
            curves = {
                name: [(e.step, e.value) for e in client.get_metric_history(one.info.run_id, name)]
                for name in one.data.metrics
            }
            return one.info.status, curves

    stop = stop_at(2)

    def look(update: RunUpdate) -> None:
        status, curves = found()
        seen.append((status, len(curves["by_task/accuracy"]), curves["loss"][-1][0]))
        stop(update)

    with pytest.raises(Stop):
        trained(job(tmp_path), tracker("mlflow", tmp_path, fail), look)
    assert seen == [("RUNNING", 1, 14), ("RUNNING", 2, 28)]
    assert found()[0] == "KILLED"
    again = tracker("mlflow", tmp_path, fail)
    (record,) = trained(job(tmp_path, resume=True), again, lambda _: None)
    status, curves = found()
    assert status == "FINISHED"
    assert {name: curves[name] for name in logged_record(record).curves} == logged_record(
        record
    ).curves


@pytest.mark.slow
def test_wandb_writes_blocks_of_points_and_replaces_a_run_that_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    place, steps = str(tmp_path), list(range(1, 301))
    cut_off = wandb.begin("run", {"lr": 0.1}, place)
    cut_off.add({"loss": [(step, 0.5) for step in steps]})
    (kept,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    until = time.monotonic() + 60  # another process writes the file
    while "loss" not in scanned(kept)["history"] and time.monotonic() < until:
        time.sleep(0.05)
    assert "loss" in scanned(kept)["history"]
    cut_off.stop()
    assert kept.exists()
    log = wandb.begin("run", {"lr": 0.1}, place)
    logged = LoggedRecord("record", {}, {}, {"final/AA": 0.5}, "{}", None)
    log.finish(logged)
    (kept,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert scanned(kept)["run"] == {"run", "record"}
    assert wandb.is_kept("record", place)
    assert not list(tmp_path.glob("running-*"))


def logs_in(kind: str, out: Path) -> int:
    """The number of logs that a viewer of the tracker shows."""
    if kind == "mlflow":
        with mlflow.opened(mlflow.default(out)) as (client, where):
            return len(client.search_runs([where]))
    files = {"tensorboard": "tensorboard/*", "wandb": "wandb/wandb/offline-run-*"}
    return len(list(out.glob(files[kind])))


@pytest.mark.parametrize(
    "kind",
    [
        "tensorboard",
        pytest.param("mlflow", marks=pytest.mark.slow),
        pytest.param("wandb", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_was_finished_without_the_tracker_leaves_no_interrupted_log(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MLFLOW_TRACKING_URI", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(Stop):
        trained(job(tmp_path), tracker(kind, tmp_path, fail), stop_at(2))
    assert logs_in(kind, tmp_path) == 1
    (record,) = run(job(tmp_path, resume=True), unwatched, lambda _: None)
    tracker(kind, tmp_path, fail).keep_all([record])
    assert logs_in(kind, tmp_path) == 1


@pytest.mark.slow
def test_a_wandb_run_is_finished_when_its_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W&B's own `finish` returns earlier: here half a second, or a minute and more."""
    from wandb import Run

    monkeypatch.delenv("WANDB_MODE", raising=False)
    place, finals, finish = str(tmp_path), {"final/AA": 0.5, "final/AF": 0.1}, Run.finish
    log = wandb.begin("run", {"lr": 0.1}, place)
    (kept,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    monkeypatch.setattr(Run, "finish", lambda _: None)
    monkeypatch.setattr(wandb, "PATIENCE", 0.1)
    with pytest.raises(UserError, match=r"W&B has not completed .*; results are kept"):
        log.finish(LoggedRecord("late", {}, {}, finals, "{}", None))
    assert not wandb.is_kept("late", place)
    monkeypatch.setattr(Run, "finish", lambda run: threading.Timer(0.5, finish, [run]).start())
    monkeypatch.setattr(wandb, "PATIENCE", 60)
    log.finish(LoggedRecord("record", {}, {}, finals, "{}", None))
    assert finals.keys() <= scanned(kept)["summary"]
    assert wandb.is_kept("record", place)


def test_a_forged_name_of_an_offline_run_stays_in_the_folder(tmp_path: Path) -> None:
    found = wandb.offline_run(str(tmp_path), "../../../etc")
    assert found == tmp_path / "wandb" / "offline-run-etc"


# --- from other processes ---


@pytest.mark.slow
def test_a_worker_tells_of_its_runs_before_they_end(tmp_path: Path) -> None:
    heard: list[RunUpdate | Outcome] = []
    local.carry_out([job(tmp_path)], lambda _: None, heard.append, on_update=heard.append)
    *updates, outcome = heard
    assert [len(update.curves["by_task/accuracy"]) for update in updates] == [1, 2, 3, 4, 5]
    (record,) = outcome.records
    assert updates[-1].run == record.name
    assert updates[-1].curves == logged_record(record).curves
    assert updates[-1].settings == logged_record(record).settings


def test_a_node_tells_of_its_runs_from_a_thread_and_computes_the_same(tmp_path: Path) -> None:
    unit = cluster.marked(job(tmp_path / "there"), "now")
    begun, *updates, outcome = cluster.unit(unit, "now", updates=True)
    assert begun is None
    assert [len(update.curves["by_task/accuracy"]) for update in updates] == [1, 2, 3, 4, 5]
    (there,), (here,) = outcome.records, attempt(job(tmp_path / "here")).records
    assert (there.accuracy, there.losses) == (here.accuracy, here.losses)


def test_an_engine_is_tracked_and_its_records_are_kept(tmp_path: Path) -> None:
    def engine(
        jobs: Sequence[Job], started: Started, done: Done, *, on_update: OnUpdate | None = None
    ) -> None:
        for job in jobs:
            done(attempt(job, on_update))

    seen: list[RunUpdate] = []
    on_record: list[Outcome] = []
    with tracker("tensorboard", tmp_path, fail) as tracking:
        carry = tracked(engine, tracking)
        carry([job(tmp_path)], lambda _: None, on_record.append, on_update=seen.append)
    assert len(seen) == TASKS
    check_tensorboard(tmp_path, on_record[0].records)


# --- a tracker costs nothing, and fails alone ---


def test_an_update_needs_no_state_of_the_run() -> None:
    group = Group([run := fresh("bison")])
    group.train(Watcher())
    del run.me
    assert update_of(run).curves["by_task/accuracy"]


def test_no_step_of_a_run_that_is_tracked_reads_from_the_device() -> None:
    told: list[RunUpdate] = []
    listener = Listener(5, 8)
    with (
        pytest.raises(Stop),
        with_updates(lambda _: _Given(listener), told.append)(None) as watcher,
    ):
        Group([fresh("bison")]).train(watcher)
    assert listener.waits.found == []
    assert len(told) == 1


class _Given:
    """A watcher as a context."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher

    def __enter__(self) -> Watcher:
        return self.watcher

    def __exit__(self, *error: object) -> None:
        pass


class Broken:
    """A tracker whose server is away after so many calls."""

    def __init__(self, calls: int) -> None:
        self.left, self.tried, self.last = calls, 0, {}

    def begin(self, name: str, settings: Any, place: str) -> Broken:
        return self

    def is_kept(self, name: str, place: str) -> bool:
        return self.add({}) is not None

    def add(self, curves: Any) -> None:
        self.tried += 1
        if self.tried > self.left:
            raise ConnectionError("the server\nis away")

    def finish(self, logged: LoggedRecord) -> None:
        self.add({})

    def stop(self) -> None:
        raise ConnectionError("still away")


@pytest.mark.parametrize("calls", [0, 5])
def test_a_tracker_that_fails_costs_one_line_and_no_run(calls: int, tmp_path: Path) -> None:
    said: list[str] = []
    backend = Broken(calls)
    tracking = Tracker(backend, "there", tmp_path, said.append)
    (record,) = trained(job(tmp_path), tracking, lambda _: None)
    assert record.metrics.AA > 0
    assert backend.tried == calls + 1  # it is left alone afterwards
    tracking.keep_all([record])
    assert backend.tried == calls + 2  # and asked once more at the end
    (line,) = said
    assert line.startswith("warning: the server is away; runs go on")


def test_a_folder_that_vanishes_is_one_line(tmp_path: Path) -> None:
    said: list[str] = []
    tracking = tracker(f"tensorboard:{tmp_path / 'there'}", tmp_path, said.append)
    (tmp_path / "there").rmdir()
    (tmp_path / "there").write_text("a file")
    tracking.keep(made_up.record(seed=0))
    assert len(said) == 1
    assert "results are kept" in said[0]


def failing_half_way(kind: str, out: Path, after: Callable[[], None]) -> list[str]:
    """What a tracker says whose place is destroyed after the first task of a run."""
    said, pauses = list[str](), iter(range(TASKS))

    def destroy(_: object) -> None:
        if next(pauses) == 0:
            after()

    trained(job(out), tracker(kind, out, said.append), destroy)
    return said


def test_tensorboard_that_fails_half_way_prints_no_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "tensorboard"

    def destroy() -> None:
        place.rename(tmp_path / "elsewhere")
        place.write_text("a file")

    (line,) = failing_half_way("tensorboard", tmp_path, destroy)
    assert "Not a directory; results are kept" in line
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_mlflow_that_fails_half_way_prints_no_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)

    def destroy() -> None:
        with sqlite3.connect(tmp_path / "mlflow.db") as database:
            database.execute("DROP TABLE metrics")
        database.close()

    (line,) = failing_half_way("mlflow", tmp_path, destroy)
    assert "no such table: metrics; results are kept" in line
    assert "Traceback" not in capfd.readouterr().err


def test_log_files_of_wandb_on_a_full_disk_print_no_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", True)
    tracker("wandb", tmp_path, fail)
    line = logging.LogRecord("wandb", logging.INFO, "", 0, "logging to debug.log", None, None)
    full = open("/dev/full", "w")  # noqa: SIM115  its close fails, too
    logging.StreamHandler(full).handle(line)
    with suppress(OSError):
        full.close()
    assert capfd.readouterr().err == ""


def test_an_interrupted_command_leaves_no_writer_open(tmp_path: Path) -> None:
    with suppress(Stop):
        trained(job(tmp_path), tracking := tracker("tensorboard", tmp_path, fail), stop_at(1))
    assert tracking.logs == {}

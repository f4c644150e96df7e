"""`bison-ocl rerun`: a record again, from itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bison_ocl.experiments.carry.rerun import job_of
from bison_ocl.experiments.records.record import Scores, Timing
from tests import made_up
from tests.cli.calling import Call, refused
from tests.digits import few, use

SMALL = ["--data", "split-digits", "--set", "filters=1", "--set", "stream_batch=20"]


@pytest.fixture(autouse=True)
def few_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, few)


def test_records_to_run_again_are_found_by_line(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("")
    assert "holds no record" in call("rerun", path).err
    call("run", "er", *SMALL, "--memory", "20", "--seeds", "0", "--out", tmp_path)
    assert "has no line 2: the last is 1" in call("rerun", f"{path}:2").err
    assert "has no line 0: the last is 1" in call("rerun", f"{path}:0").err
    of_one_task = {"accuracy": [[0.0]], "confusion": None, "log": [{}]}
    other = {**json.loads(path.read_text()), **of_one_task, "commit": "other", "data_sha256": "0"}
    path.write_text("\n" + json.dumps(other) + "\n")
    refused(call("rerun", f"{path}:1"), "line 1 is not a result")
    said = call("rerun", f"{path}:2", "--out", tmp_path / "again")
    assert "commit other is now" in said.out
    assert "the images changed" in said.out
    assert "AA was" in said.out


def test_a_record_that_does_not_say_how_it_ran_is_refused(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    call("run", "er", *SMALL, "--memory", "20", "--seeds", "0", "--out", tmp_path)
    record = json.loads(path.read_text())
    del record["environment"], record["timing"]
    path.write_text(json.dumps(record) + "\n")
    refused(call("rerun", path), "line 1 lacks environment, timing")


def test_the_same_accuracy_on_other_images_is_not_the_same(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    call("run", "er", *SMALL, "--memory", "20", "--seeds", "0", "--out", tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "train_sha256": "0"}) + "\n")
    assert "the images changed" in call("rerun", path, "--out", tmp_path / "again").out


def test_the_same_accuracy_is_not_all(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    words = ["--memory", "20", "--seeds", "0", "--also", "ncm", "--out", tmp_path]
    call("run", "er", *SMALL, *words)
    record = json.loads(path.read_text())
    record["also"]["ncm"]["metrics"]["AA"] += 0.1
    record["losses"]["loss"][0] += 1e-7
    path.write_text(json.dumps(record) + "\n")
    said = call("rerun", path, "--out", tmp_path / "again").out
    assert "also, losses differ: the cause is unknown" in said


def test_it_is_really_run_again_and_comes_out_the_same(call: Call, tmp_path: Path) -> None:
    call("run", "bison", *SMALL, "--memory", "20", "--seeds", "0-1", "--out", tmp_path)
    words = ["rerun", f"{tmp_path / 'results.jsonl'}:2"]
    said = call(*words, "--out", tmp_path / "again")
    assert said.status == 0
    assert "identical to the last digit" in said.out
    refused(call(*words, "--out", tmp_path / "again"), "already holds this run", "--out")
    refused(call(*words, "--out", tmp_path), "already holds this run")


def test_a_folder_that_may_not_be_read(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    refused(call("rerun", tmp_path / "results.jsonl:1"), "cannot read", "Permission denied")


def test_there_is_no_such_file(call: Call, tmp_path: Path) -> None:
    refused(call("rerun", tmp_path / "nothing.jsonl:1"), "no file", "give FILE:LINE")


def test_the_job_of_a_record_is_all_that_it_says(tmp_path: Path) -> None:
    record = made_up.record(
        method="bison",
        data="folder:cows",
        memory=50,
        seed=7,
        settings={"beta": 0.3, "dc": True},
        stream="natural",
        data_options={"image_size": 32},
        also={"ncm": Scores(made_up.ONE.accuracy, made_up.ONE.metrics)},
        precision="bf16",
        timing=Timing(1.0, 1.0, 2.0, 1.0, compiled=True),
    )
    job = job_of(record, tmp_path, "cpu", None)
    assert (job.seeds, job.stream, job.also) == ([7], "natural", ("ncm",))
    assert (job.precision, job.data_options) == ("bf16", {"image_size": 32})
    assert job.compiling
    assert (job.memory, job.settings) == (50, {"beta": 0.3, "dc": True})

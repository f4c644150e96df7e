"""`bison-ocl reproduce` and `rerun`: what they print, their status, one line for bad input."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from bison_ocl.cli import main
from bison_ocl.experiments import calibration, local
from bison_ocl.experiments.rerun import job_of
from bison_ocl.experiments.runner import Job
from bison_ocl.experiments.work import Done, Outcome, Started
from tests.experiments.inline import one_by_one, use_few_digits

SMALL = ["--data", "split-digits", "--set", "filters=1", "--set", "stream_batch=20"]


class Said(NamedTuple):
    status: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command in this process, with an engine that stays in it, on a few digits."""
    use_few_digits(monkeypatch)
    monkeypatch.setattr(local, "carry_out", inline)

    def called(*words: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["bison-ocl", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        code = caught.value.code
        return Said(code if isinstance(code, int) else 0, *capsys.readouterr())

    return called


def inline(jobs: Sequence[Job], started: Started, done: Done, **options: object) -> None:
    one_by_one(jobs, started, done)


def test_list_shows_every_item_with_runs_and_an_honest_estimate(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "seconds_of_a_step", lambda device: 0.1)
    said = call("reproduce", "--list", "--processes", "2", "--device", "cpu")
    assert said.status == 0
    lines = {line.split()[0]: line for line in said.out.splitlines()[1:14]}
    assert lines["table1"].split()[-4:] == ["1290", "1290", "33.4", "days"]
    assert lines["balance"].split()[-4:-2] == ["590", "0"]
    assert "Figure 7" in lines["confusion"]
    assert "100 ms a step of ER, timed just now" in said.out
    assert "2 processes" in said.out


def test_a_step_is_really_timed() -> None:
    assert 1e-4 < calibration.seconds_of_a_step("cpu") < 60


def test_plan_prints_what_would_run_and_runs_nothing(call: Call, tmp_path: Path) -> None:
    said = call(
        "reproduce", "feature-enhancement", "--plan", "--methods", "onpro", "--out", tmp_path
    )
    assert said.status == 0
    assert "filters=64 buffer_batch=64" in said.out
    assert "15 runs, 15 seeds of each; 15 of them to run" in said.out
    assert not list(tmp_path.iterdir())


def test_it_runs_reports_and_goes_on(call: Call, tmp_path: Path) -> None:
    words = ["reproduce", "ablation", *SMALL, "--seeds", "0", "--out", tmp_path]
    said = call(*words)
    assert said.status == 0, said.err
    assert "0 runs finished, 0 copied, 7 to run" in said.err
    assert "7 of 7 done" in said.err
    assert "report.html" in said.out
    lines = (tmp_path / "ablation/results.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [record["method"] for record in found] == ["finetune", *["bison"] * 6]
    assert "ablation" in (tmp_path / "RESULTS.md").read_text()
    planned = call(*words[:-2], "--seeds", "0-1", "--plan", "--out", tmp_path)
    assert "14 runs, 2 seeds of each; 7 of them to run" in planned.out
    again = call("rerun", f"{tmp_path / 'ablation/results.jsonl'}:3", "--out", tmp_path / "again")
    assert again.status == 0
    assert "the same to the last digit" in again.out


def test_a_failed_run_is_named_and_the_status_says_so(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlucky(jobs: Sequence[Job], started: Started, done: Done, **options: object) -> None:
        one_by_one(jobs[1:], started, done)
        done(Outcome(jobs[0], [], "OutOfMemoryError: too large"))

    monkeypatch.setattr(local, "carry_out", unlucky)
    said = call("reproduce", "confusion", *SMALL, "--seeds", "0", "--out", tmp_path)
    assert said.status == 1
    assert "failed: er filters=1 stream_batch=20" in said.err
    assert "OutOfMemoryError: too large" in said.err
    assert "1 of 3 runs failed" in said.err
    assert len((tmp_path / "confusion/results.jsonl").read_text().splitlines()) == 2


def test_if_every_run_fails_there_is_no_report_and_the_status_says_so(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hopeless(jobs: Sequence[Job], started: Started, done: Done, **options: object) -> None:
        for job in jobs:
            done(Outcome(job, [], "no luck"))

    monkeypatch.setattr(local, "carry_out", hopeless)
    said = call("reproduce", "confusion", *SMALL, "--seeds", "0", "--out", tmp_path)
    assert said.status == 1
    assert said.err.count("no luck") == 3
    assert "3 of 3 runs failed" in said.err
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["reproduce"], "--list"),
        (["reproduce", "tabel1"], "did you mean 'table1'"),
        (["reproduce", "table1", "--seeds", "x"], "such as 0-9"),
        (["reproduce", "table1", "--memory", "few"], "whole numbers"),
        (["reproduce", "table1", "--processes", "0"], "--processes must be above 0"),
        (["reproduce", "table1", "--engine", "slurm"], "choose local or ray"),
        (["reproduce", "table1", "--address", "auto"], "add --engine ray"),
        (["reproduce", "time", "--engine", "ray"], "measures one machine"),
        (["reproduce", "ablation", "--set", "beta"], "key=value"),
        (["reproduce", "ablation", "--precision", "fp8"], "tf32, bf16 or fp32"),
        (["rerun", "nothing.jsonl:1"], "there is no file"),
    ],
)
def test_bad_input_is_one_line(call: Call, tmp_path: Path, words: list[str], why: str) -> None:
    said = call(*words, *([] if words[0] == "rerun" else ["--out", tmp_path]))
    assert said.status == 2
    assert why in said.err
    assert len(said.err.splitlines()) == 1


def test_a_read_only_folder_is_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    said = call("reproduce", "confusion", *SMALL, "--out", tmp_path / "taken")
    assert said.status == 2
    assert "cannot write to" in said.err


def test_records_to_run_again_are_found_by_line(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("")
    assert "holds 0 records" in call("rerun", path).err
    call("run", "er", *SMALL, "--memory", "20", "--seeds", "0", "--out", tmp_path)
    assert "ends with line 1" in call("rerun", f"{path}:2").err
    other = {**json.loads(path.read_text()), "accuracy": [[0.0]], "commit": "other"}
    path.write_text(json.dumps(other) + "\n")
    said = call("rerun", path, "--out", tmp_path / "again")
    assert "commit other is now" in said.out
    assert "AA was" in said.out


def test_the_job_of_a_record_is_all_that_it_says(tmp_path: Path) -> None:
    record = {
        "method": "bison",
        "data": "folder:cows",
        "memory": 50,
        "seed": 7,
        "settings": {"beta": 0.3, "dc": True},
        "stream": "natural",
        "data_options": {"image_size": 32},
        "also": {"ncm": {}},
        "precision": "bf16",
    }
    job = job_of(record, tmp_path, "cpu", None)
    assert (job.seeds, job.stream, job.also) == ([7], "natural", ("ncm",))
    assert (job.precision, job.data_options) == ("bf16", {"image_size": 32})
    assert (job.memory, job.settings) == (50, {"beta": 0.3, "dc": True})

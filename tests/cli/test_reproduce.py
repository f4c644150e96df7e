"""`bison-ocl reproduce`: what it prints, its status, one line for bad input."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from bison_ocl.cli.reproduce import chosen_engine, list_items
from bison_ocl.experiments.carry import local
from bison_ocl.experiments.carry.work import Done, Outcome, Started
from bison_ocl.experiments.plan import costs, machine
from bison_ocl.experiments.plan.machine import last, measured
from bison_ocl.experiments.train.runner import Job
from tests.cli.calling import Call, refused
from tests.digits import few, use
from tests.experiments.inline import one_by_one

SMALL = ["--data", "split-digits", "--set", "filters=1", "--set", "stream_batch=20"]


@pytest.fixture(autouse=True)
def in_this_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An engine that stays here, few digits, and a machine of known speed."""
    use(monkeypatch, few)
    monkeypatch.setattr(local, "carry_out", inline)
    monkeypatch.setattr(costs, "seconds_of_a_step", seconds)
    monkeypatch.setenv("BISON_OCL_CACHE", str(tmp_path_factory.mktemp("cache")))


def inline(jobs: Sequence[Job], started: Started, done: Done, **options: object) -> None:
    one_by_one(jobs, started, done)


def seconds(device: str, precision: str, alone: bool = False) -> float:
    """Of a made-up step."""
    return {"cpu": 0.1, "cuda": 0.002 if alone else 0.0005}[device]


def test_list_shows_every_item_by_the_rate_that_plan_measured(call: Call, tmp_path: Path) -> None:
    words = ["reproduce", "--list", "--processes", "2", "--device", "cpu"]
    said = call(*words)
    lines = {line.split()[0]: line for line in said.out.splitlines()[1:16]}
    assert lines["table1"].split()[-3:] == ["1380", "1380", "–"]
    assert "No estimates yet: `bison-ocl reproduce ITEM --plan` measures" in said.out
    planned = call("reproduce", "table1", "--plan", "--out", tmp_path, *words[-4:])
    assert "1380 left to run, about 47.0 days" in planned.out
    assert "a step of ER takes 100 ms, measured 20" in planned.out
    said = call(*words)
    assert said.status == 0
    lines = {line.split()[0]: line for line in said.out.splitlines()[1:16]}
    assert lines["table1"].split()[-4:] == ["1380", "1380", "47.0", "days"]
    assert lines["balance"].split()[-4:-2] == ["630", "0"]
    assert lines["all"].split()[-4:-2] == ["2195", "2195"]
    assert "Figure 7" in lines["confusion"]
    assert "a step of ER takes 100 ms, measured 20" in said.out
    assert "processes: 2" in said.out
    other = call("reproduce", "--list", "--precision", "bf16")
    assert "No estimates yet" in other.out


def test_plan_counts_discarded_runs_as_list_does(call: Call, tmp_path: Path) -> None:
    planned = call("reproduce", "efficiency", "--plan", "--device", "cpu", "--out", tmp_path)
    listed = call("reproduce", "--list", "--device", "cpu")
    (line,) = [line for line in listed.out.splitlines() if line.startswith("efficiency")]
    assert f"about {' '.join(line.split()[-2:])}\n" in planned.out


def test_on_a_gpu_what_must_run_alone_is_reckoned_by_steps_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    measured("cpu", "bf16")
    measured("cuda", "bf16")
    list_items("auto", "bf16", None)  # the GPU's
    said = capsys.readouterr().out
    lines = {line.split()[0]: line for line in said.splitlines()[1:16]}
    assert lines["efficiency"].endswith("86 s")  # 4 cells, each trained twice, 5,250 to 5,458 steps
    assert lines["confusion"].endswith("25 s")
    assert "takes 0.5 ms per seed with ten at once, 2 ms alone, measured 20" in said


def test_a_damaged_or_unwritable_rate_is_no_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    measured("cpu", "tf32")
    found = last("cpu", "tf32")
    assert found is not None
    assert (found.step, last("cuda", "tf32"), last("cpu", "fp32")) == (0.1, None, None)
    for text in ("[", '[{"speed": 1}]', "3"):
        machine.rates_file().write_text(text)
        assert last("auto", "tf32") is None
    monkeypatch.setenv("BISON_OCL_CACHE", "/proc/nowhere")
    assert measured("cpu", "tf32").step == 0.1
    assert last("cpu", "tf32") is None


def test_plan_prints_what_would_run_and_runs_nothing(call: Call, tmp_path: Path) -> None:
    said = call(
        "reproduce", "feature-enhancement", "--plan", "--methods", "onpro", "--out", tmp_path
    )
    assert said.status == 0
    assert "filters=64 buffer_batch=64" in said.out
    assert "15 runs, 15 seeds per cell; 15 left to run, about" in said.out
    assert not list(tmp_path.iterdir())


def test_it_runs_reports_and_goes_on(call: Call, tmp_path: Path) -> None:
    words = ["reproduce", "ablation", *SMALL, "--seeds", "0", "--out", tmp_path]
    said = call(*words)
    assert said.status == 0, said.err
    assert "ablation: 7 runs to do, 0 finished, 0 copied from other items" in said.err
    assert "7 of 7 done" in said.err
    assert "w/o PAF" in said.out
    assert "report.html" in said.out
    lines = (tmp_path / "ablation/results.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    assert [record["method"] for record in found] == ["finetune", *["bison"] * 6]
    assert "ablation" in (tmp_path / "RESULTS.md").read_text()
    planned = call(*words[:-2], "--seeds", "0-1", "--plan", "--out", tmp_path)
    assert "14 runs, 2 seeds per cell; 7 left to run" in planned.out


def test_a_plan_for_a_gpu_counts_its_runs_and_needs_none_here(call: Call, tmp_path: Path) -> None:
    words = ["reproduce", "ablation", *SMALL, "--seeds", "0", "--out", tmp_path]
    assert call(*words).status == 0
    file = tmp_path / "ablation/results.jsonl"
    file.write_text(file.read_text().replace('"precision": "fp32"', '"precision": "tf32"'))
    here, there = (call(*words, "--plan", "--device", device) for device in ("cpu", "cuda"))
    assert "7 left to run, about" in here.out
    assert there.status == 0
    assert "0 left to run" in there.out
    if not torch.cuda.is_available():
        assert "No estimates: torch finds no GPU here." in there.out


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
        (["reproduce", "table1", "--processes", "0"], "--processes 0: expected a number above 0"),
        (["reproduce", "table1", "--methods", ","], "--methods is empty"),
        (["reproduce", "table1", "--engine", "slurm"], "'slurm' is not one of 'local', 'ray'"),
        (["reproduce", "table1", "--address", "auto"], "add --engine ray"),
        (["reproduce", "time", "--engine", "ray"], "measure one machine"),
        (["reproduce", "ablation", "--set", "beta"], "key=value"),
        (
            ["reproduce", "ablation", "--precision", "fp8"],
            "'fp8' is not one of 'tf32', 'bf16', 'fp32'",
        ),
    ],
)
def test_bad_input_is_one_line(call: Call, tmp_path: Path, words: list[str], why: str) -> None:
    refused(call(*words, "--out", tmp_path), why)


def test_a_read_only_folder_is_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    refused(call("reproduce", "confusion", *SMALL, "--out", tmp_path / "taken"), "cannot write to")


def test_several_items_run_in_turn_and_share_their_runs(call: Call, tmp_path: Path) -> None:
    said = call(
        "reproduce", "confusion", "similar-pairs", *SMALL, "--seeds", "0", "--out", tmp_path
    )
    assert said.status == 0, said.err
    assert "confusion: 3 runs to do" in said.err
    assert "similar-pairs: 0 runs to do, 0 finished, 3 copied" in said.err
    planned = call("reproduce", "all", *SMALL[:2], "--plan", "--out", tmp_path)
    assert planned.out.count("seeds per cell") == 12  # `efficiency` has one
    assert "efficiency: 2 runs, 1 seed per cell" in planned.out


def test_results_of_another_schema_beside_it_cost_the_report_not_the_runs(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "older").mkdir()
    (tmp_path / "older/results.jsonl").write_text('{"schema": 9}\n')
    words = ["--methods", "bison", "--seeds", "0", "--out", tmp_path]
    said = call("reproduce", "confusion", *SMALL, *words)
    assert said.status == 2
    last = said.err.splitlines()[-1]
    assert "the runs are kept, but there is no report" in last
    assert "older/results.jsonl line 1 has schema 9" in last
    assert len((tmp_path / "confusion/results.jsonl").read_text().splitlines()) == 1


def test_a_machine_without_a_package_of_the_report_costs_the_report_not_the_runs(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    words = ["--methods", "bison", "--seeds", "0", "--out", tmp_path]
    said = call("reproduce", "confusion", *SMALL, *words)
    assert said.status == 2
    assert "the runs are kept" in said.err.splitlines()[-1]
    assert (
        "plotly is missing; run `bison-ocl report` on a machine that has it"
        in said.err.splitlines()[-1]
    )
    assert len((tmp_path / "confusion/results.jsonl").read_text().splitlines()) == 1


def test_a_gpu_has_one_process_unless_told_and_timings_always_have_one() -> None:
    def at_once(processes: int | None, alone: bool) -> int:
        chosen = chosen_engine("local", None, "cuda", processes, alone)
        return chosen.keywords["processes"]  # type: ignore[attr-defined, no-any-return]

    assert (at_once(None, False), at_once(3, False), at_once(3, True)) == (1, 3, 1)

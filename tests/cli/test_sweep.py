"""`bison-ocl run` with lists: which runs there are, what is printed, what is finished already."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.experiments.carry import cluster, local
from bison_ocl.experiments.carry.work import Done, Started
from bison_ocl.experiments.train.runner import Job
from tests.cli.calling import Call, refused
from tests.digits import few, use
from tests.experiments.inline import one_by_one

SMALL = ["--data", "split-digits", "--set", "filters=1", "--set", "stream_batch=20"]


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, object]]]:
    """Engines that stay in this process, with few digits; which were called, and how."""
    called: list[tuple[str, dict[str, object]]] = []

    def engine(name: str) -> Any:
        def carry_out(jobs: Sequence[Job], started: Started, done: Done, **options: object) -> None:
            called.append((name, options))
            one_by_one(jobs, started, done)

        return carry_out

    use(monkeypatch, few)
    monkeypatch.setattr(local, "carry_out", engine("local"))
    monkeypatch.setattr(cluster, "carry_out", engine("ray"))
    return called


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def axes(folder: Path) -> list[tuple[Any, ...]]:
    """Method, memory, β and seed of every run."""
    return [
        (one["method"], one["memory"], one["settings"].get("beta"), one["seed"])
        for one in records(folder)
    ]


def test_lists_are_combined_and_settings_go_to_the_methods_that_read_them(
    call: Call, tmp_path: Path
) -> None:
    words = ["run", "er,bison", *SMALL, "--memory", "10,20", "--set", "beta=0.1,0.2"]
    said = call(*words, "--with-reference", "--seeds", "0,1", "--out", tmp_path / "runs")
    assert said.status == 0, said.err
    expected = {("finetune", 0, None), ("er", 10, None), ("er", 20, None)}
    expected |= {("bison", memory, beta) for memory in (10, 20) for beta in (0.1, 0.2)}
    assert sorted(map(str, axes(tmp_path / "runs"))) == sorted(
        str((*one, seed)) for one in expected for seed in (0, 1)
    )
    assert axes(tmp_path / "runs")[0][0] == "finetune"  # first, because AI needs it
    assert "AI needs" not in said.err
    assert "BISON, M = 10: 2 settings were compared on the test images, so none" in said.out
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()] == []


def test_the_best_setting_is_named_with_its_criterion(call: Call, tmp_path: Path) -> None:
    words = ["run", "bison", *SMALL, "--memory", "20", "--set", "beta=0.05,0.3", "--seeds", "0,1"]
    said = call(*words, "--validate", "0.3", "--out", tmp_path)
    assert said.status == 0, said.err
    assert "Split Digits, validated on 30 %, M = 20" in said.out
    found = records(tmp_path)
    assert all(one["data_options"] == {"validate": 0.3} for one in found)
    assert all(sum(map(sum, one["confusion"][-1])) == 30 for one in found)  # of 100 to train on
    means = {
        beta: sum(one["metrics"]["AA"] for one in found if one["settings"]["beta"] == beta) / 2
        for beta in (0.05, 0.3)
    }
    best = max(means, key=lambda beta: means[beta])
    last = said.out.splitlines()[-1]
    assert last.startswith(
        f"BISON, M = 20: best of 2 settings is beta={best:g}, by mean validation"
    )
    assert f"AA {100 * means[best]:.1f} ±" in last
    assert "(n = 2; 30 % of each task's training images held out)" in last


def test_finished_runs_are_skipped_by_sweeps_and_single_runs_alike(
    call: Call, tmp_path: Path, engines: list[Any]
) -> None:
    assert call("run", "er", *SMALL, "--memory", "20", "--out", tmp_path).status == 0
    assert engines == []
    said = call("run", "er", *SMALL, "--memory", "10,20", "--out", tmp_path)
    assert f"{tmp_path.name}: 1 runs to do, 1 finished" in said.err
    said = call("run", "er", *SMALL, "--memory", "10", "--out", tmp_path)
    assert "seed 0 is finished" in said.err
    assert len(records(tmp_path)) == 2
    assert call("run", "er", *SMALL, "--memory", "10", "--validate", "0.3", "--out", tmp_path)
    assert len(records(tmp_path)) == 3  # scored on other images: another run


def test_a_stream_in_other_words_is_the_same_sweep(call: Call, tmp_path: Path) -> None:
    words = ["run", "er", *SMALL, "--memory", "10,20", "--out", tmp_path]
    assert call(*words, "--stream", "blurry").status == 0
    said = call(*words, "--stream", "blurry:spill=10,disjoint=50")
    assert "0 runs to do, 2 finished" in said.err


def test_the_current_folder_may_hold_the_results(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trial").mkdir()
    monkeypatch.chdir(tmp_path / "trial")
    said = call("run", "er", *SMALL, "--memory", "10,20", "--out", ".")
    assert said.status == 0, said.err
    assert "trial: 2 runs to do" in said.err
    assert len(records(tmp_path / "trial")) == 2
    assert "trial" in said.out.splitlines()[0]


def test_a_grid_file_holds_the_axes(call: Call, tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('memory = [10, 20]\nbeta = [0.1, 0.2]\npal = ["off", "bs"]\n')
    said = call("run", "bison", *SMALL, "--grid", grid, "--out", tmp_path / "runs")
    assert said.status == 0, said.err
    assert len(records(tmp_path / "runs")) == 8
    words = ["run", "bison", *SMALL, "--grid", grid, "--out", tmp_path / "other"]
    refused(call(*words, "--set", "beta=1"), "beta is given on the command line and in --grid")
    refused(call(*words, "--memory", "10"), "memory is given by --memory and in the grid")


def test_ray_and_processes_are_for_every_run(
    call: Call, tmp_path: Path, engines: list[Any]
) -> None:
    words = ["run", "er", *SMALL, "--memory", "20", "--out", tmp_path]
    assert call(*words, "--engine", "ray", "--address", "there").status == 0
    assert call(*words, "--processes", "3", "--seeds", "1").status == 0
    assert engines == [
        ("ray", {"address": "there"}),
        ("local", {"processes": 3, "warm_up": False}),
    ]


def test_other_rules_go_to_the_methods_that_can_be_read_so(call: Call, tmp_path: Path) -> None:
    words = ["run", "finetune,er,gdumb", *SMALL, "--memory", "20", "--out", tmp_path]
    assert call(*words, "--also", "ncm", "--average", "0.9").status == 0
    assert {one["method"]: list(one["also"]) for one in records(tmp_path)} == {
        "finetune": ["averaged"],
        "er": ["ncm", "averaged"],
        "gdumb": ["ncm"],
    }


@pytest.mark.parametrize("by", ["--set", "--grid"])
def test_a_sweep_of_decays_scores_the_averages(by: str, call: Call, tmp_path: Path) -> None:
    """Without them every decay would show the same numbers."""
    (tmp_path / "grid.toml").write_text("average = [0, 0.5, 0.9]")
    how = "average=0,0.5,0.9" if by == "--set" else tmp_path / "grid.toml"
    words = ["run", "er", *SMALL, "--memory", "20", "--out", tmp_path / "runs", by, how]
    assert call(*words).status == 0
    assert {
        one["settings"]["average"]: list(one["also"]) for one in records(tmp_path / "runs")
    } == {
        0: [],
        0.5: ["averaged"],
        0.9: ["averaged"],
    }


def test_the_average_is_scored_once_where_the_method_predicts_by_it(
    call: Call, tmp_path: Path
) -> None:
    words = ["run", "bison-ald", *SMALL, "--memory", "20", "--average", "0.9"]
    assert call(*words, "--out", tmp_path / "by-itself").status == 0
    assert [list(one["also"]) for one in records(tmp_path / "by-itself")] == [[]]
    assert call(*words, "--also", "averaged", "--out", tmp_path / "asked").status == 0
    (one,) = records(tmp_path / "asked")
    assert one["also"]["averaged"]["metrics"] == one["metrics"]


def test_a_failed_run_is_reported_and_the_others_are_shown(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bison_ocl.experiments.carry import work

    def fails(job: Job, *rest: Any) -> Any:
        if job.memory == 20:
            raise ZeroDivisionError("of the test")
        return run(job, *rest)

    run = work.run
    monkeypatch.setattr(work, "run", fails)
    said = call("run", "er", *SMALL, "--memory", "10,20", "--out", tmp_path)
    assert said.status == 1
    assert "1 of 2 runs failed; repeat the command to retry them" in said.err
    assert "M = 10" in said.out

"""Entries of benchmarks.measure name the cells to run, and nothing else is run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import measure
from benchmarks.measure import Pool, described

from bison_ocl.errors import UserError
from bison_ocl.experiments.records.results import RESULTS, append, read
from tests.report.records import records


@pytest.mark.parametrize(
    ("entry", "units"),
    [
        ("ocm:0-4:split-cifar10:500:old_logits=position", ["ocm old_logits=position"]),
        ("ocm:0-4:split-cifar10:500:old_logits=", ["ocm"]),
        ("ocm:0-4:split-cifar10:500", ["ocm", "ocm old_logits=position"]),
        ("er,pcr:0-4:split-cifar10:500", ["er", "pcr"]),
    ],
)
def test_an_entry_names_its_units(entry: str, units: list[str], tmp_path: Path) -> None:
    pool = Pool([f"table1:{entry}"], tmp_path, device="cpu", precision="fp32")
    cells = [f"{unit} split-cifar10 500 (5 seeds)" for unit in units]
    assert [described(unit) for unit in pool.todo] == cells


def test_an_entry_leaves_out_what_an_earlier_one_has(tmp_path: Path) -> None:
    entries = ["table1:er:0-4:split-cifar10:500", "table1:er:0-4:split-cifar10:200,500"]
    pool = Pool(entries, tmp_path, device="cpu", precision="fp32")
    assert [unit.memory for unit in pool.todo] == [500, 200]


def test_seeds_that_are_set_apart_are_units_of_their_own(tmp_path: Path) -> None:
    entries = ["table1:er:0/1-2/0:split-cifar10:500"]
    pool = Pool(entries, tmp_path, device="cpu", precision="fp32")
    assert [list(unit.seeds) for unit in pool.todo] == [[0], [1, 2]]
    assert len({unit.out for unit in pool.todo}) == 2


def test_two_units_that_would_share_a_folder_are_refused(tmp_path: Path) -> None:
    entries = ["table1:er:0-2:split-cifar10:500", "table1:er:0-4:split-cifar10:500"]
    with pytest.raises(UserError, match="put its seeds into one"):
        Pool(entries, tmp_path, device="cpu", precision="fp32")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("table1:ocm:0:split-cifar10:500:old_logits=set", "no cell has this setting"),
        ("table1:er:0", "expected ITEM:METHODS:SEEDS:DATA"),
        ("table1:er:0:split-cifar10:old_logits=", "expected ITEM:METHODS:SEEDS:DATA"),
        ("table1:ocn:0:split-cifar10", "ocm"),
    ],
)
def test_an_entry_that_names_nothing_is_refused_in_one_line(
    entry: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["measure", entry, "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        measure.main()
    assert ended.value.code == 2
    assert words in capsys.readouterr().err.splitlines()[-1]


def keep_main_table(out: Path) -> None:
    """Records of FINE-TUNE and BISON in the main table, as a GPU leaves them."""
    for found in records("table1", seeds=2):
        if found.method in ("finetune", "bison") and found.memory in (0, 1000):
            append(out / "table1" / RESULTS, replace(found, precision="bf16"))


def test_runs_that_another_item_has_are_copied_not_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_main_table(tmp_path)
    words = ["measure", "ncm:bison:0-1:split-miniimagenet:1000", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*words, "--plan"])
    measure.main()
    assert not (tmp_path / "ncm").exists()
    monkeypatch.setattr(sys, "argv", words)
    measure.main()
    measure.main()
    assert [(one.method, one.seed) for one in read(tmp_path / "ncm" / RESULTS)] == [
        ("bison", 0),
        ("bison", 1),
    ]


def test_runs_that_train_again_for_a_readout_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for found in records("table1", seeds=2):
        if found.method == "er" and found.memory == 1000:
            append(tmp_path / "table1" / RESULTS, replace(found, precision="bf16", also={}))
    entry = "table1:er:0-2:split-miniimagenet:1000"
    monkeypatch.setattr(sys, "argv", ["measure", entry, "--out", str(tmp_path), "--plan"])
    measure.main()
    assert "2 runs of them have a record that lacks readouts" in capsys.readouterr().out


def test_references_that_another_item_has_are_copied_too(tmp_path: Path) -> None:
    keep_main_table(tmp_path)
    entry = "ablation:bison:0:split-miniimagenet"
    pool = Pool([entry], tmp_path, device="cpu", precision="bf16")
    assert len(pool.todo) == 5
    pool.copy()
    copied = read(tmp_path / "ablation" / RESULTS)
    assert [(one.method, one.seed) for one in copied] == [("finetune", 0), ("bison", 0)]


def test_a_command_that_is_stopped_has_copied_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    keep_main_table(tmp_path)
    words = ["measure", "ablation:bison:0:split-miniimagenet", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(measure.local, "carry_out", stopped)
    with pytest.raises(KeyboardInterrupt):
        measure.main()
    copied = read(tmp_path / "ablation" / RESULTS)
    assert [(one.method, one.seed) for one in copied] == [("finetune", 0), ("bison", 0)]


def test_times_are_measured_though_another_entry_trains_the_same_runs(tmp_path: Path) -> None:
    entries = ["table1:er:0:split-cifar10:1000", "time:er:0:split-cifar10"]
    pool = Pool(entries, tmp_path, device="cpu", precision="fp32")
    assert [unit.out.parts[-3] for unit in pool.todo] == ["table1", "time"]


def test_times_are_measured_with_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["measure", "time:er:0:split-digits", "--out", str(tmp_path), "--processes", "2"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit):
        measure.main()
    assert "--processes 1" in capsys.readouterr().err


def test_a_plan_lists_units_and_trains_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["measure", "table1:er,pcr:0:split-digits:100", "--out", str(tmp_path), "--plan"]
    monkeypatch.setattr(sys, "argv", words)
    measure.main()
    assert capsys.readouterr().out.splitlines()[1:] == [
        "er split-digits 100 (seed 0)",
        "pcr split-digits 100 (seed 0)",
    ]
    assert not list(tmp_path.iterdir())


ENTRY = "table1:er:0/1/2/3:split-digits:100"


def begin(out: Path, *options: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-u", "-m", "benchmarks.measure", ENTRY, "--out", str(out)]
    return subprocess.Popen(
        [*words, "--precision", "fp32", *options],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_killed_command_keeps_its_records_and_goes_on_when_repeated(tmp_path: Path) -> None:
    results = tmp_path / "table1" / RESULTS
    process = begin(tmp_path)
    while process.poll() is None and not results.exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = results.read_text().splitlines()
    said = begin(tmp_path, "--until", "0").communicate(timeout=300)[0]
    assert f"{4 - len(kept)} units to do" in said
    assert f"{3 - len(kept)} units were not started" in said
    assert results.read_text().splitlines()[: len(kept)] == kept
    assert [record.seed for record in read(results)] == list(range(len(kept) + 1))

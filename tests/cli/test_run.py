"""`bison-ocl run`: what it prints, what it writes, and one line with status 2 for bad input."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bison_ocl import Learner
from bison_ocl.data import load
from bison_ocl.evaluate.metrics import average_accuracy, forgetting
from bison_ocl.experiments.carry.work import unwatched
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.experiments.terminal import bar
from bison_ocl.experiments.train import runner
from bison_ocl.experiments.train.runner import Job, claims_of
from bison_ocl.files import checkpoint
from bison_ocl.files.lock import claimed
from tests.cli.calling import Call, Said, refused
from tests.data.image_files import colour_of, save
from tests.digits import shrunk, use
from tests.experiments.disk import room_for

COMMAND = [str(Path(sys.executable).parent / "bison-ocl")]
SMALL = [
    "--data",
    "split-digits",
    "--memory",
    "20",
    "--set",
    "filters=1",
    "--set",
    "stream_batch=70",
]


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """For calls inside this process, to save time."""
    use(monkeypatch, shrunk)


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_averages_and_rules_are_scored_beside_the_methods_own(call: Call, tmp_path: Path) -> None:
    words = ["run", "er", *SMALL, "--average", "0.9", "--also", "ncm,ld-mirror", "--out", tmp_path]
    said = call(*words, "--also", "averaged+ld")
    assert said.status == 0
    (record,) = records(tmp_path)
    assert record["settings"]["average"] == 0.9
    assert list(record["also"]) == ["ncm", "ld-mirror", "averaged+ld", "averaged"]
    refused(call("run", "er", *SMALL, "--average", "1", "--out", tmp_path), "average=1", "below 1")
    twice = ["--average", "0.9", "--set", "average=0.8"]
    refused(call("run", "er", *SMALL, *twice, "--out", tmp_path), "average", "give it once")
    words = ["run", "finetune", *SMALL, "--also", "ld", "--out", tmp_path]
    refused(call(*words), "--also ld needs a memory")
    words = ["run", "gdumb", *SMALL, "--average", "0.9", "--out", tmp_path]
    refused(call(*words), "average has no effect on gdumb")


def test_a_folder_is_the_same_dataset_however_its_path_is_written(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        save(tmp_path / "pets" / "ab"[number % 2] / f"{number}.png", colour_of(number))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BISON_OCL_CACHE", str(tmp_path / "cache"))
    for written in ("folder:pets", "folder:pets/", "folder:./pets"):
        words = ["--memory", "10", "--set", "filters=1", "--out", "runs"]
        assert call("run", "er", "--data", written, *words).status == 0
    assert [record["data"] for record in records(tmp_path / "runs")] == ["folder:pets"]


class Interrupted(SystemExit):
    """Ends a run as a kill would, but leaves the process alive."""


def interrupt(call: Call, out: Path, method: str = "er") -> Path:
    """A run that ended during its third task; the path of its checkpoint."""
    with pytest.MonkeyPatch.context() as patch:

        def stop(self: Any, task: int, step: int) -> None:
            if task == 2:
                raise Interrupted(9)

        patch.setattr(bar.Lines, "stepped", stop)
        assert call("run", method, *SMALL, "--out", out).status == 9
    (path,) = (out / "checkpoints").iterdir()
    return path


def test_run_writes_records_and_prints_their_table(call: Call, tmp_path: Path) -> None:
    said = call("run", "bison", *SMALL, "--seeds", "0,3", "--out", tmp_path)
    assert said.status == 0
    found = records(tmp_path)
    assert [record["seed"] for record in found] == [0, 3]
    for record in found:
        check_schema(record)
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert "Split Digits, M = 20" in lines
    assert "method AA ↑ AF_table ↓ AF (text) ↓ AI ↓" in lines
    parts = []
    for metric in ("AA", "AF_table", "AF"):
        values = 100 * np.array([record["metrics"][metric] for record in found])
        parts.append(f"{values.mean():.1f} ± {values.std(ddof=1):.1f} (2)")
    (shown,) = [line for line in lines if line.startswith("BISON (")]
    assert shown.endswith(f") {' '.join(parts)} –")
    *_, needed, following = said.err.splitlines()
    assert needed.startswith("AI needs FINE-TUNE on the same seeds: repeat ")
    assert following.endswith(f": bison-ocl report {tmp_path}")
    words = ["--seeds", "0,3", "--with-reference", "--set", "beta=0.1", "--out", tmp_path]
    said = call("run", "bison", *SMALL, *words)  # the preset's beta: the same runs
    assert "AI needs" not in said.err
    assert said.err.count("skipped") == 2
    assert [(record["method"], record["memory"]) for record in records(tmp_path)[2:]] == [
        ("finetune", 0)
    ] * 2
    kept = records(tmp_path)[-1]["settings"]
    assert (kept["filters"], kept["stream_batch"]) == (1, 70)


def check_schema(record: dict[str, Any]) -> None:
    """All that a record holds, with values that agree with each other."""
    names = "schema method data memory seed settings class_order accuracy metrics"
    names += " confusion timing environment commit"
    assert set(names.split()) <= record.keys()
    assert (record["schema"], record["method"], record["data"]) == (2, "bison", "split-digits")
    assert record["memory"] == 20
    assert {"beta", "lambda", "gamma", "delta", "eta", "filters"} <= record["settings"].keys()
    assert sorted(record["class_order"]) == list(range(10))
    matrix, metrics = np.array(record["accuracy"]), record["metrics"]
    assert matrix.shape == (5, 5)
    assert not np.triu(matrix, 1).any()
    assert {"AA", "AF", "AF_table", "AI"} <= metrics.keys()
    assert metrics["AA"] == average_accuracy(matrix)
    assert metrics["AF"] == forgetting(matrix, "text")
    assert metrics["AF_table"] == forgetting(matrix, "table")
    assert metrics["AI"] is None
    last = np.array(record["confusion"][-1])
    assert last.sum() == 340
    assert np.trace(last) / 340 == pytest.approx(metrics["AA"])
    assert [set(line) for line in record["log"]] == [{"alpha", "eta_stream", "eta_buffer"}] * 5
    assert record["timing"]["total_s"] > 0
    assert {"torch", "python", "device", "threads"} <= record["environment"].keys()


def test_runs_of_other_precisions_are_other_runs(call: Call, tmp_path: Path) -> None:
    words = ("run", "er", *SMALL, "--out", tmp_path)
    assert call(*words).status == 0
    assert "is finished" in call(*words, "--precision", "fp32").err  # a CPU has no TF32
    said = call(*words, "--precision", "bf16", "--with-reference")
    assert said.status == 0
    assert "is finished" not in said.err
    assert [(one["method"], one["precision"]) for one in records(tmp_path)] == [
        ("er", "fp32"),
        ("finetune", "bf16"),
        ("er", "bf16"),
    ]
    first, _, second = records(tmp_path)
    assert first["losses"]["steps"] == second["losses"]["steps"] == list(range(1, 21))
    assert "is finished" in call(*words, "--precision", "bf16").err


def test_plain_lines_where_there_is_no_terminal(call: Call, tmp_path: Path) -> None:
    said = call("run", "finetune", *SMALL, "--out", tmp_path)
    lines = [line for line in said.err.splitlines() if line.startswith("finetune seed 0")]
    assert [line.split("  ")[1] for line in lines] == [f"task {i}/5" for i in range(1, 6)]
    assert "step 20/20" in lines[-1]
    assert f"AA {100 * records(tmp_path)[0]['metrics']['AA']:.1f} %" in lines[-1]
    assert "\x1b" not in said.out + said.err
    assert records(tmp_path)[0]["memory"] == 0


def test_finished_seeds_are_skipped_with_a_notice(call: Call, tmp_path: Path) -> None:
    call("run", "finetune", *SMALL, "--seeds", "1", "--out", tmp_path)
    first = (tmp_path / "results.jsonl").read_bytes()
    said = call("run", "finetune", *SMALL, "--seeds", "0-1", "--out", tmp_path)
    assert said.status == 0
    assert "seed 1 is finished" in said.err
    assert "seed 0 is finished" not in said.err
    assert (tmp_path / "results.jsonl").read_bytes().startswith(first)
    assert [record["seed"] for record in records(tmp_path)] == [1, 0]
    assert "(2)" in next(line for line in said.out.splitlines() if line.startswith("FINE-TUNE"))
    other = call("run", "finetune", *SMALL, "--set", "lr=0.05", "--seeds", "1", "--out", tmp_path)
    assert "skipped\n" not in other.err
    assert len(records(tmp_path)) == 3


def test_saved_models_predict_the_datasets_names(call: Call, tmp_path: Path) -> None:
    assert call("run", "er", *SMALL, "--save-model", "--out", tmp_path).status == 0
    (path,) = (tmp_path / "models").iterdir()
    learner = Learner.load(path)
    assert sorted(map(str, learner.labels)) == list("0123456789")
    test = load("split-digits").test
    hits = [int(str(a)) == b for a, b in zip(learner.predict(test.x), test.y.tolist(), strict=True)]
    assert np.mean(hits) == pytest.approx(records(tmp_path)[0]["metrics"]["AA"])
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_live_bar_in_a_terminal(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "140", "LINES": "40"}
    for name in ("NO_COLOR", "CI"):
        environment.pop(name, None)
    with subprocess.Popen(
        [*COMMAND, "run", "finetune", *SMALL, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
    ) as process:
        os.close(theirs)
        shown = drain(ours)
        assert process.wait() == 0
    assert "\x1b[" in shown  # it moves
    assert "task 1/5" in shown
    assert "task 5/5" in shown
    assert "20/20" in shown
    assert f"AA {100 * records(tmp_path)[0]['metrics']['AA']:.1f} %" in shown
    assert "0:00:" in shown


def drain(handle: int, limit: float = 120.0) -> str:
    """Everything a pseudo-terminal says until its other end is closed."""
    data, end = b"", time.monotonic() + limit
    try:
        while time.monotonic() < end:
            if select.select([handle], [], [], 1.0)[0]:
                if not (chunk := os.read(handle, 65536)):
                    break
                data += chunk
    except OSError:  # Linux's way to say that the other end is closed
        pass
    finally:
        os.close(handle)
    return data.decode()


def test_ctrl_c_ends_with_status_130_and_can_be_resumed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "run", "finetune", *SMALL[:4], "--set", "filters=1", "--out", str(tmp_path)],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for _ in range(2):  # a line a task; the first task's checkpoint is then written
            process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait() == 130
    assert "Traceback" not in rest
    assert len(list((tmp_path / "checkpoints").glob("*.safetensors"))) == 1


# --- bad input ---

RUN = ["run", "bison", "--data", "split-digits"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["run", "bisson", "--data", "split-digits"], ["method 'bisson'", "did you mean 'bison'?"]),
        (["run", "zzz", "--data", "split-digits"], ["choose from bison"]),
        (
            ["run", "bison", "--data", "split-digit"],
            ["dataset 'split-digit'", "mean 'split-digits'?"],
        ),
        (["run", "bison", "--data", "zzz"], ["dataset 'zzz'", "split-digits"]),
        ([*RUN, "--set", "betta=1"], ["unknown setting 'betta' of bison", "did you mean 'beta'?"]),
        ([*RUN, "--set", "beta"], ["key=value"]),
        ([*RUN, "--set", "beta=nan"], ["beta=nan: expected a finite number"]),
        ([*RUN, "--set", "lambda=inf"], ["lambda=inf: expected a finite number"]),
        ([*RUN, "--set", "stream_batch=0"], ["from 1 to 2,147,483,647"]),
        ([*RUN, "--set", "pal=up"], ["choose from bs, sb, off"]),
        ([*RUN, "--set", "dc=false"], ["add paf=off"]),
        ([*RUN, "--memory", "9"], ["memory 9 is smaller than the replay batch 10"]),
        (
            [*RUN, "--memory", "15", "--set", "buffer_batch=16"],
            ["replay batch 16: raise the memory"],
        ),
        ([*RUN, "--memory", "-1"], ["--memory -1: expected whole numbers, 0 or more"]),
        (["run", "er,bisson", "--data", "split-digits"], ["did you mean 'bison'?"]),
        (["run", ",", "--data", "split-digits"], ["--methods is empty"]),
        ([*RUN, "--memory", "20,x"], ["--memory x: expected whole numbers"]),
        ([*RUN, "--memory", "20,9"], ["memory 9 is smaller than the replay batch 10"]),
        ([*RUN, "--set", "beta=0.1,"], ["expected values between the commas"]),
        (["run", "er,scr", "--data", "split-digits", "--set", "beta=1"], ["setting 'beta'"]),
        (["run", "er,bison", "--data", "split-digits", "--set", "beta=x"], ["bison: beta=x"]),
        ([*RUN, "--memory", "50,100", "--save-model"], ["--save-model is for one method"]),
        ([*RUN, "--validate", "1"], ["--validate 1: expected a number between 0 and 1"]),
        ([*RUN, "--processes", "0"], ["--processes 0: expected a number above 0"]),
        ([*RUN, "--address", "auto"], ["add --engine ray"]),
        ([*RUN, "--checkpoint-every", "0"], ["--checkpoint-every 0: expected a number above 0"]),
        (
            [*RUN, "--checkpoint-every", "nan"],
            ["--checkpoint-every nan: expected a number above 0"],
        ),
        ([*RUN, "--seeds-at-once", "0"], ["--seeds-at-once 0: expected a number above 0"]),
        ([*RUN, "--seeds-at-once", "-3"], ["--seeds-at-once -3: expected a number above 0"]),
        (
            [*RUN, "--precision", "fp16"],
            ["'--precision'", "'fp16' is not one of 'tf32', 'bf16', 'fp32'"],
        ),
        ([*RUN, "--device", "tpu"], ["'--device': 'tpu' is not one of 'auto', 'cpu', 'cuda'"]),
        ([*RUN, "--nothing"], ["No such option: --nothing; see `", "run --help`"]),
        ([*RUN, "er"], ["extra argument(s) (er); see `", "run --help`"]),
        *(([*RUN, "--seeds", text], ["--seeds"]) for text in ("", "a", "1-", "3-1", "0,,1", "1.5")),
        (["demo", "--seeds", "x"], ["--seeds 'x'"]),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    words: list[str], parts: list[str], call: Call, tmp_path: Path
) -> None:
    refused(call(*words, "--out", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_here(call: Call, tmp_path: Path) -> None:
    refused(call(*RUN, "--device", "cuda", "--out", tmp_path), "finds no GPU here", "--device cpu")


def test_bad_input_in_a_process_of_its_own() -> None:
    done = subprocess.run(
        [*COMMAND, "run", "bisson", "--data", "split-digits"], capture_output=True, text=True
    )
    refused(Said(done.returncode, done.stdout, done.stderr), "did you mean 'bison'?")


@pytest.mark.parametrize("place", ["below/out", "/proc/out"])
def test_unwritable_output(place: str, call: Call, tmp_path: Path) -> None:
    (tmp_path / "below").write_text("a file")
    refused(call("run", "er", *SMALL, "--out", tmp_path / place), "cannot write to", "--out")
    assert (tmp_path / "below").read_text() == "a file"


def test_a_file_where_the_checkpoints_should_be(call: Call, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").touch()
    refused(call("run", "er", *SMALL, "--out", tmp_path), "cannot write to", "another --out")


def test_a_folder_where_the_results_should_be(call: Call, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").mkdir()
    refused(call("run", "er", *SMALL, "--out", tmp_path), "Is a directory", "another --out")


def test_a_disk_too_full_for_a_checkpoint(call: Call, tmp_path: Path) -> None:
    call("run", "finetune", *SMALL, "--out", tmp_path)
    before = (tmp_path / "results.jsonl").read_bytes()
    with room_for(20_000):
        said = call("run", "finetune", *SMALL, "--seeds", "5", "--out", tmp_path)
    assert said.status == 2
    assert said.err.splitlines()[-1].startswith(f"bison-ocl: cannot write {tmp_path}/checkpoints/")
    assert (tmp_path / "results.jsonl").read_bytes() == before
    assert not list(tmp_path.rglob(".*"))


def test_a_disk_too_full_for_the_record_loses_no_training(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    call("run", "finetune", *SMALL, "--out", tmp_path)
    path.write_bytes(before := path.read_bytes() * 20)
    words = ("run", "finetune", *SMALL, "--seeds", "5", "--out", tmp_path)
    with room_for(len(before) + 99):
        said = call(*words)
    assert said.status == 2
    assert said.err.splitlines()[-1].startswith(f"bison-ocl: cannot write {path}: ")
    assert path.read_bytes() == before
    said = call(*words, "--resume")
    assert said.status == 0
    assert "continues from step 20 of 20" in said.err
    assert path.read_bytes().startswith(before)
    assert records(tmp_path)[-1]["seed"] == 5


# --- interrupted runs, and files that something happened to ---


def test_an_interrupted_run_is_refused_without_resume(call: Call, tmp_path: Path) -> None:
    path = interrupt(call, tmp_path)
    before = path.read_bytes()
    refused(
        call("run", "er", *SMALL, "--out", tmp_path),
        "seed 0 was interrupted: continue it with --resume",
        str(path),
    )
    assert path.read_bytes() == before
    said = call("run", "er", *SMALL, "--out", tmp_path, "--resume")
    assert said.status == 0
    assert "seed 0 continues from step 8 of 20" in said.err
    assert not path.exists()
    assert len(records(tmp_path)) == 1


def test_resume_on_an_empty_folder_starts_and_on_a_finished_run_does_nothing(
    call: Call, tmp_path: Path
) -> None:
    words = ("run", "finetune", *SMALL, "--save-model", "--resume", "--out", tmp_path)
    assert call(*words).status == 0
    assert len(records(tmp_path)) == 1
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    said = call(*words)
    assert said.status == 0
    assert "seed 0 is finished" in said.err
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("damage", ["cut", "foreign", "tampered"])
def test_a_damaged_checkpoint_is_set_aside(damage: str, call: Call, tmp_path: Path) -> None:
    path = interrupt(call, tmp_path, "finetune")
    data = path.read_bytes()
    broken = {
        "cut": data[:-100],
        "foreign": b"something else",
        "tampered": data[:-1] + bytes([data[-1] ^ 1]),
    }[damage]
    path.write_bytes(broken)
    said = call("run", "finetune", *SMALL, "--out", tmp_path, "--resume")
    assert said.status == 0
    assert f"moved an unreadable checkpoint to {path}.damaged; seed 0 restarts" in said.err
    assert Path(f"{path}.damaged").read_bytes() == broken
    assert len(records(tmp_path)) == 1


@pytest.mark.parametrize(
    "other",
    [{"kind": "learner"}, {"spec": {}}, {"data_sha256": "0"}, {"train_sha256": "0"}, {"steps": 1}],
)
def test_a_checkpoint_of_something_else_is_refused(
    other: dict[str, Any], call: Call, tmp_path: Path
) -> None:
    path = interrupt(call, tmp_path, "finetune")
    tensors, header = checkpoint.read(path)
    checkpoint.write(path, tensors, header | other)
    before = path.read_bytes()
    refused(call("run", "finetune", *SMALL, "--out", tmp_path, "--resume"), str(path))
    assert path.read_bytes() == before


def test_a_torn_last_line(call: Call, tmp_path: Path) -> None:
    call("run", "finetune", *SMALL, "--seeds", "0", "--out", tmp_path)
    whole = (tmp_path / "results.jsonl").read_bytes()
    (tmp_path / "results.jsonl").write_bytes(whole + whole[:50])
    words = ("run", "finetune", *SMALL, "--seeds", "0-1", "--out", tmp_path)
    refused(call(*words), "truncated line", "--resume")
    assert (tmp_path / "results.jsonl").read_bytes() == whole + whole[:50]
    said = call(*words, "--resume")
    assert said.status == 0
    assert "moved a truncated line to" in said.err
    assert "seed 0 is finished" in said.err
    assert (tmp_path / "results.jsonl.torn").read_bytes() == whole[:50] + b"\n"
    assert (tmp_path / "results.jsonl").read_bytes().startswith(whole)
    assert [record["seed"] for record in records(tmp_path)] == [0, 1]


@pytest.mark.parametrize("line", [b"hello\n", b'{"schema": 7}\n'])
def test_foreign_lines_among_the_results(line: bytes, call: Call, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_bytes(line)
    refused(call("run", "er", *SMALL, "--out", tmp_path), "results.jsonl line 1")
    assert (tmp_path / "results.jsonl").read_bytes() == line


def test_a_run_that_another_process_trains_is_left_to_it(call: Call, tmp_path: Path) -> None:
    path = interrupt(call, tmp_path, "finetune")
    spec = Spec(**checkpoint.read(path)[1]["spec"])
    path.unlink()
    asked = Job("finetune", "split-digits", 0, [0], {}, tmp_path)
    claims = path.with_name(".claims")
    with claimed(claims, claims_of(asked, [spec])):
        said = call("run", "finetune", *SMALL, "--seeds", "0,1", "--out", tmp_path)
        refused(said, f"another process works on seed 0 in {tmp_path}: wait for it or stop it")
        assert call("run", "finetune", *SMALL, "--seeds", "1", "--out", tmp_path).status == 0
        assert call("run", "er", *SMALL, "--seeds", "0", "--out", tmp_path).status == 0
        assert list(claims.parent.iterdir()) == [claims]
    assert list(claims.parent.iterdir()) == []


def test_a_thousand_seeds_are_claimed_with_few_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, before = range(1101), resource.getrlimit(resource.RLIMIT_NOFILE)
    asked = Job("finetune", "split-digits", 0, seeds, {}, tmp_path)
    monkeypatch.setattr(
        runner, "trained", lambda *_: (SimpleNamespace(seed=seed) for seed in seeds)
    )
    few = len(os.listdir("/proc/self/fd")) + 50
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, before[1]))
    try:
        runner.run(asked, unwatched, print)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_a_thousand_finished_seeds_are_skipped_at_once(call: Call, tmp_path: Path) -> None:
    words = ("run", "finetune", *SMALL, "--out", tmp_path, "--seeds")
    call(*words, "0")
    (record,) = records(tmp_path)
    lines = [json.dumps(record | {"seed": seed}) for seed in range(1101)]
    (tmp_path / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    begun = time.process_time()
    said = call(*words, "0-1100")
    assert said.status == 0
    assert said.err.count(" is finished in ") == 1101
    assert time.process_time() - begun < 15  # 60 where each seed was compared with each record


def test_a_file_system_without_locks_is_refused_before_training(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "fcntl", fail)
    monkeypatch.setattr(fcntl, "flock", fail)
    refused(
        call("run", "er", *SMALL, "--out", tmp_path),
        f"cannot lock files in {tmp_path / 'checkpoints'}: No locks available; "
        "choose another --out on a local disk",
    )
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.parametrize("split", ["data_sha256", "train_sha256"])
def test_results_of_other_images_are_not_taken_for_these(
    split: str, call: Call, tmp_path: Path
) -> None:
    words = ("run", "finetune", *SMALL, "--out", tmp_path)
    call(*words)
    (record,) = records(tmp_path)
    assert len(record[split]) == 64
    line = json.dumps(record | {split: "0"})
    (tmp_path / "results.jsonl").write_text(f"{line}\n")
    refused(call(*words), "used other images than split-digits has now: choose another --out")


def test_a_loss_beyond_all_bounds_is_pointed_out(call: Call, tmp_path: Path) -> None:
    said = call("run", "er", *SMALL, "--set", "lr=1e38", "--out", tmp_path)
    assert said.status == 0
    assert f"{tmp_path.name}: the loss of 1 run was not finite" in said.err

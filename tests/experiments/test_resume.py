"""kill -9 at any moment, `--resume`, and the end is bit for bit that of a run left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.experiments.records import results as records
from bison_ocl.files import checkpoint
from tests.tiny import same

COMMAND = [
    str(Path(sys.executable).parent / "bison-ocl"),
    *["run", "bison", "--data", "split-digits", "--memory", "20", "--seeds", "0", "--save-model"],
    *["--checkpoint-every", "0.1", "--set", "filters=2", "--set", "stream_batch=20"],
]
KILLS = 3


def start(out: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "--out", str(out), *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


def newest(folder: Path) -> int:
    """When the last checkpoint was written; a run that ends removes its own."""
    times = [0]
    for path in folder.glob("*.safetensors"):
        with suppress(FileNotFoundError):
            times.append(path.stat().st_mtime_ns)
    return max(times)


def kill(process: subprocess.Popen[str], out: Path, wait: float) -> None:
    """End a process the hard way, a while after it has saved something of its own."""
    begun = time.time_ns()
    while process.poll() is None and newest(out / "checkpoints") <= begun:
        time.sleep(0.002)
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def outcome(out: Path) -> dict[str, Any]:
    """The one record, without its times."""
    (line,) = (out / "results.jsonl").read_text().splitlines()
    return {key: value for key, value in json.loads(line).items() if key != "timing"}


@pytest.mark.slow
def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finish(start(whole))
    generator = random.Random(time.time_ns())  # a new moment each time: any must do
    moments = [generator.uniform(0, 0.2) for _ in range(KILLS)]
    killed = 0
    for moment in moments:
        process = start(broken, "--resume")
        kill(process, broken, moment)
        if process.returncode == 0:  # a machine so fast that it came too late
            break
        assert process.returncode == -signal.SIGKILL
        killed += 1
    assert killed > 0
    done = any(records.read_complete(broken / "results.jsonl"))
    assert ("continues from step" in finish(start(broken, "--resume"))) is not done
    assert outcome(broken) == outcome(whole), f"killed at {moments}"
    (one,), (other,) = ((out / "models").iterdir() for out in (whole, broken))
    assert one.name == other.name
    assert same(checkpoint.read(one)[0], checkpoint.read(other)[0]), f"killed at {moments}"
    assert checkpoint.read(one)[1] == checkpoint.read(other)[1]
    assert done or not list((broken / "checkpoints").glob("*.safetensors"))

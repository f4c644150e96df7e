"""The command on a hostile machine: no home, no memory, no room for output, Ctrl-C while it starts.

One line at most, the status that the documents name, no traceback; in processes of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bison_ocl.cli.options import expanded
from bison_ocl.errors import shortage
from bison_ocl.experiments.carry import work
from bison_ocl.experiments.train import runner
from bison_ocl.experiments.train.runner import Job
from tests.cli.calling import Call, Said, refused

CALL = "from bison_ocl.cli import main; main()"
SMALL = ["--data", "split-digits", "--memory", "20", "--set", "filters=1"]


def called(*words: str | Path, before: str = "", **environment: str) -> Said:
    """The command in a process of its own; before: what is done there first."""
    done = subprocess.run(
        [sys.executable, "-c", f"{before}\n{CALL}", *map(str, words)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Said(done.returncode, done.stdout, done.stderr)


# --- no home ---

HOMELESS = """
import os, pwd
os.environ.pop("HOME", None)
os.environ.pop("XDG_CACHE_HOME", None)
def nobody(user): raise KeyError(user)
pwd.getpwuid = nobody
"""


def test_a_user_without_a_home_folder() -> None:
    said = called("data", "fetch", "split-cifar10", before=HOMELESS)
    refused(said, "no home folder", "set BISON_OCL_DATA, or --data-dir")


def test_what_needs_no_home_folder_runs_without_one(tmp_path: Path) -> None:
    words = ["finetune", *SMALL, "--set", "stream_batch=300", "--out", tmp_path]
    said = called("run", *words, before=HOMELESS)
    assert said.status == 0, said.err


@pytest.mark.parametrize(
    "words",
    [
        ["run", "er", *SMALL, "--out", "~nobody-here/x"],
        ["data", "check", "split-cifar10", "--data-dir", "~nobody-here/x"],
        ["report", "results/demo", "--out", "~nobody-here/x"],
    ],
    ids=lambda words: words[0],
)
def test_the_home_of_nobody(words: list[str], call: Call) -> None:
    refused(call(*words), "no home folder for ~nobody-here")
    assert not Path("~nobody-here").exists()


def test_data_in_the_home_of_nobody() -> None:
    said = called("data", "check", "split-cifar10", BISON_OCL_DATA="~nobody-here/x")
    refused(said, "no home folder")


def test_a_home_that_the_shell_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert expanded(Path("~/runs")) == Path("/home/somebody/runs")
    assert expanded(None) is None


# --- no memory ---


def test_a_run_without_enough_memory(tmp_path: Path) -> None:
    many = "filters=2147483647"
    said = called("run", "er", "--data", "split-digits", "--set", many, "--out", tmp_path)
    assert said.status == 1
    assert said.out == ""
    assert said.err.count("\n") == 1, said.err
    assert said.err.startswith("bison-ocl: out of memory (")
    assert "lower --memory" in said.err


CPU = "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried "
FULL = [
    MemoryError(),
    RuntimeError(f"{CPU}to allocate 40 bytes. Error code 12 (Cannot allocate memory)"),
    RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total of"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    OSError(12, "Cannot allocate memory"),
]


@pytest.mark.parametrize("error", FULL, ids=str)
def test_memory_that_runs_out_is_one_line_of_a_failed_run(
    error: Exception, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(runner, "run_group", full)
    said = call("run", "er", *SMALL, "--out", tmp_path)
    assert said.status == 1
    assert said.err.startswith("bison-ocl: out of memory")
    assert said.err.count("\n") == 1
    outcome = work.attempt(Job("er", "split-digits", 20, [0], {"filters": "1"}, tmp_path / "unit"))
    assert outcome.error == shortage(error)
    assert outcome.trace is not None


def test_what_was_asked_for_is_said() -> None:
    asked = [str(shortage(error)).partition(":")[0] for error in FULL[1:3]]
    assert asked == [
        f"out of memory (tried to allocate {size})" for size in ("40 bytes", "20.00 MiB")
    ]
    assert shortage(RuntimeError("mat1 and mat2 shapes cannot be multiplied")) is None


def test_a_fault_of_our_own_keeps_its_traceback(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> None:
        raise RuntimeError("wrong")

    monkeypatch.setattr(runner, "run_group", wrong)
    with pytest.raises(RuntimeError, match="wrong"):
        call("run", "er", *SMALL, "--out", tmp_path)


# --- no room for output ---


def shell(script: str, **environment: str) -> Said:
    """A line of shell that names the command $ocl."""
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"],
        env={**os.environ, "CALL": CALL, "PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Said(done.returncode, done.stdout, done.stderr)


OCL = '"$PYTHON" -c "$CALL"'


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("words", ["methods", "--version", "run --help"])
def test_standard_output_that_is_full(words: str, buffered: str) -> None:
    said = shell(f"{OCL} {words} > /dev/full", PYTHONUNBUFFERED=buffered)
    refused(said, "cannot write", "No space left on device")


@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("words", ["methods", "reproduce --list", "run --help"])
def test_a_reader_that_has_read_enough(words: str, buffered: str) -> None:
    said = shell(f"{OCL} {words} | true", PYTHONUNBUFFERED=buffered)
    assert said.status in (0, 1)  # 0 where all was written before the reader ended
    assert said.err == ""


@pytest.mark.parametrize(("place", "status"), [(">&-", 0), ("2>/dev/full", 0), ("2>&-", 0)])
def test_outputs_that_nobody_needs(place: str, status: int) -> None:
    assert shell(f"{OCL} streams {place}").status == status


def test_no_room_to_say_what_is_wrong() -> None:
    assert shell(f"{OCL} nothing 2>/dev/full").status == 2
    assert shell(f"{OCL} nothing 2>&-").status == 2


# --- Ctrl-C while the command starts ---

PRESSED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    "name",
    [
        "bison_ocl.cli.process.start",
        "bison_ocl.errors",
        "typer",
        "torch",
        "numpy.linalg",
    ],
)
def test_ctrl_c_while_something_is_imported(name: str, tmp_path: Path) -> None:
    said = called(
        "run", "finetune", *SMALL, "--out", tmp_path / "out", before=PRESSED.format(name=name)
    )
    assert said.status == 130, said.err
    assert "Traceback" not in said.err
    assert said.err.count("\n") <= 1
    assert said.out == ""
    assert not (tmp_path / "out").exists()


def test_ctrl_c_while_a_run_imports_what_its_checkpoint_needs(tmp_path: Path) -> None:
    words = ["run", "finetune", *SMALL, "--out", tmp_path / "out"]
    said = called(*words, before=PRESSED.format(name="safetensors"))
    assert said.status == 130, said.err
    assert "Traceback" not in said.err
    *progress, last = said.err.splitlines()
    assert all(line.startswith("finetune seed 0") for line in progress)
    assert last.startswith("bison-ocl: stopped; finished runs are kept")
    assert said.out == ""
    again = called(*words, "--resume")
    assert again.status == 0, again.err

"""The command as a whole: what it lists, how fast it starts, how it refuses misuse."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import get_args

import pytest

from bison_ocl.cli import options
from bison_ocl.data import DATASETS
from bison_ocl.methods import METHODS
from bison_ocl.nets.precision import PRECISIONS
from tests.cli.calling import Call

RUN = ["run", "bison", "--data", "split-digits"]


@pytest.mark.parametrize(
    "words",
    [
        ["methods"],
        ["datasets"],
        ["--version"],
        ["--help"],
        ["run", "--help"],
        ["run", "x", "--seeds", "a"],
    ],
    ids=" ".join,
)
def test_commands_that_compute_nothing_do_not_import_torch(words: list[str]) -> None:
    code = (
        "import sys; from bison_ocl.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('heavy:', [m for m in ('torch', 'matplotlib', 'safetensors') if m in sys.modules])"
    )
    extra = ["--data", "x"] if words[0] == "run" and words[-1] != "--help" else []
    done = subprocess.run(
        [sys.executable, "-c", code, *words, *extra], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("heavy: []\n")


@pytest.mark.parametrize("words", [["--help"], ["data", "--help"]], ids=" ".join)
def test_no_line_of_a_list_of_commands_is_cut(
    call: Call, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = call(*words).out.partition("Commands:\n")[2].splitlines()
    assert len(listed) > 1
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_letters_that_a_terminal_does_not_have_are_replaced() -> None:
    code = "from bison_ocl.cli import main; main()"
    for words in (["methods"], ["streams"], ["run", "bison", "--data", "–"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env=os.environ | {"PYTHONIOENCODING": "ascii"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (2 if words[0] == "run" else 0)
        assert "Traceback" not in done.stderr
        assert "?" in done.stdout + done.stderr


def test_version(call: Call) -> None:
    said = call("--version")
    assert said.status == 0
    name, number, *commit = said.out.split()
    assert name == "bison-ocl"
    assert number[0].isdigit()
    assert not commit or (commit[0] == "commit" and len(commit[1]) >= 40)


def test_python_runs_the_package_as_the_command(call: Call) -> None:
    words = [sys.executable, "-m", "bison_ocl", "rn"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    said = call("rn")
    assert (done.returncode, done.stdout, done.stderr) == (2, said.out, said.err)


def test_methods_and_datasets_are_listed_with_their_sources(call: Call) -> None:
    said = call("methods")
    assert said.status == 0
    for name in METHODS:
        assert any(line.startswith(f"{name} ") for line in said.out.splitlines())
    assert "Wen, Heinis & Choi 2026" in said.out
    assert "Chaudhry et al. 2019" in said.out
    said = call("datasets")
    assert said.status == 0
    for name in DATASETS:
        assert any(line.startswith(f"{name} ") for line in said.out.splitlines())
    assert "Alpaydin" in said.out


def test_the_package_itself_is_light() -> None:
    code = "import sys, bison_ocl; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    "words", [["run", "bison"], [*RUN, "--memory", "x"], ["nothing"], [*RUN, "--nothing"]]
)
def test_misuse_of_options_has_status_2_and_no_traceback(words: list[str], call: Call) -> None:
    said = call(*words)
    assert said.status == 2
    assert said.err.startswith("bison-ocl: ")
    assert len(said.err.splitlines()) == 1
    assert "Traceback" not in said.err


def test_precisions_are_those_of_the_nets() -> None:
    choices, _ = get_args(options.Precision)
    assert get_args(choices) == PRECISIONS

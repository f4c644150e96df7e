"""`new`, `check`, and a method of one's own in `run` and `reproduce`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bison_ocl import Learner
from bison_ocl.experiments.plan.plan import Wanted, plan
from bison_ocl.methods import registered_name
from bison_ocl.methods.outside import REGISTERED
from bison_ocl.report.study.looks import look_of
from tests.cli.calling import Call, refused
from tests.digits import shrunk, use

SMALL = ["--data", "split-digits", "--set", "filters=1", "--set", "stream_batch=70"]


@pytest.fixture(autouse=True)
def small_digits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    use(monkeypatch, shrunk)
    yield
    REGISTERED.clear()
    for name in [name for name in sys.modules if name.startswith("bison_ocl_outside_")]:
        del sys.modules[name]


@pytest.fixture
def mine(call: Call, tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    assert call("new", path).status == 0
    return path


def test_a_new_file_keeps_the_contract(call: Call, tmp_path: Path) -> None:
    said = call("new", tmp_path / "my_method.py")
    assert said.out.endswith(f"bison-ocl check {tmp_path / 'my_method.py'}:MyMethod\n")
    said = call("check", f"{tmp_path / 'my_method.py'}:MyMethod")
    assert said.status == 0, said
    *lines, following = said.out.splitlines()
    assert following == f"next: bison-ocl run {tmp_path / 'my_method.py'}:MyMethod " + (
        "--data split-digits --memory 100"
    )
    assert len(lines) > 20
    assert all(line.startswith("holds   ") for line in lines)


def test_a_new_file_with_a_long_name_keeps_to_the_packages_width(
    call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "maximally_interfered_retrieval.py"
    assert call("new", path).status == 0
    assert max(map(len, path.read_text("utf-8").splitlines())) <= 100


def test_the_next_command_can_be_copied(call: Call, tmp_path: Path) -> None:
    said = call("new", tmp_path / "my method.py")
    assert said.out.endswith(f"bison-ocl check '{tmp_path / 'my method.py'}:MyMethod'\n")


def test_what_breaks_is_said_in_one_line_each(call: Call, mine: Path) -> None:
    unmasked = (
        "    def predict(self, me, summary, x):\n        return me.net(x, 'linear', 'eval')\n"
    )
    mine.write_text(f"{mine.read_text()}\n{unmasked}")
    said = call("check", f"{mine}:Mine")
    assert said.status == 1
    broken = [line for line in said.out.splitlines() if line.startswith("BROKEN  ")]
    assert said.err.endswith(f"fails {len(broken)} of the checks above\n")
    assert any(line.endswith("an unseen class scores > −∞") for line in broken)


def test_an_error_is_said_with_its_line(call: Call, mine: Path) -> None:
    lines = mine.read_text().splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.startswith("        return stream")]
    mine.write_text(mine.read_text().replace("return stream +", "return stream + None +"))
    said = call("check", f"{mine}:Mine")
    broken = [line for line in said.out.splitlines() if line.startswith("BROKEN  ")]
    assert broken[-1].endswith(f" (mine.py line {number})")


def test_a_file_without_its_class_is_said(call: Call, mine: Path) -> None:
    refused(call("run", mine, "--data", "split-digits"), f"such as {mine}:Mine")


def test_a_missing_option_is_said_with_its_help(call: Call, mine: Path) -> None:
    refused(call("run", f"{mine}:Mine"), "'--data'. Dataset; see `bison-ocl datasets`.")


def test_new_writes_over_nothing(call: Call, mine: Path) -> None:
    refused(call("new", mine), "already exists")
    refused(call("new", mine.parent / "nowhere" / "a.py"), "choose another path")
    refused(call("new", mine.with_name("a.txt")), "expected a file name such as mine.py")
    refused(call("new", mine.with_name("1.py")), "expected a file name such as mine.py")


def test_a_file_is_run_like_any_other_method(call: Call, mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    words = ["run", f"{mine}:Mine", *SMALL, "--memory", "20", "--out", out, "--set", "weight=3"]
    said = call(*words, "--save-model")
    assert said.status == 0, said
    assert "Mine" in said.out
    assert "skipped" in call(*words).err
    (model,) = (out / "models").iterdir()
    with pytest.raises(
        Exception, match=r"from outside this package: give load\(..., method=Mine\), or a"
    ):
        Learner.load(model)
    found = Learner.load(model, method=REGISTERED["mine"].method)
    assert found.method.weight == 3.0  # type: ignore[attr-defined]
    mine.write_text(f"{mine.read_text()}# changed\n")
    refused(call(*words), "comes from another version of mine: choose another --out")
    for more in (["--seeds", "1"], ["--seeds", "1", "--processes", "1"]):  # a mean would mix them
        refused(call(*words, *more), "seed 0 in ", "comes from another version of mine")
    refused(call("run", f"{mine}:Yours", *SMALL), "has no class 'Yours'")
    refused(call("run", f"{mine}:Mine", *SMALL, "--set", "wieght=1"), "did you mean 'weight'?")


def test_a_file_joins_an_item_of_the_paper(call: Call, mine: Path, tmp_path: Path) -> None:
    words = ["reproduce", "table1", "--methods", f"{mine}:Mine,er", "--data", "split-cifar10"]
    said = call(*words, "--plan", "--out", tmp_path / "out")
    assert said.status == 0, said
    cells = [line.split()[0] for line in said.out.splitlines()]
    assert cells.count("mine") == cells.count("er") > 1


@pytest.mark.parametrize(
    ("item", "data", "settings", "also"),
    [
        ("table1", "split-cifar10", {}, "ncm"),
        ("beyond", "split-cifar10", {"average": "0.995"}, "averaged+ld-mirror"),
        ("feature-enhancement", "split-cifar100", {"filters": "64", "buffer_batch": "64"}, ""),
        ("sensitivity", "split-cifar10", {}, ""),
    ],
)
def test_a_file_has_the_settings_and_readouts_of_an_item(
    item: str, data: str, settings: dict[str, str], also: str, mine: Path
) -> None:
    name = registered_name(f"{mine}:Mine")
    cells = plan(item, Wanted(methods=[name], data=[data])).cells
    own = [cell for cell in cells if cell.method == name]
    assert own
    assert all(dict(cell.settings) == settings for cell in own)
    assert all(also in cell.also if also else not cell.also for cell in own)


def test_a_file_without_a_memory_has_no_readouts(mine: Path) -> None:
    text = mine.read_text("utf-8").replace('title = "Mine"', 'title = "Mine"\n    replays = False')
    mine.write_text(text, "utf-8")
    name = registered_name(f"{mine}:Mine")
    cells = plan("table1", Wanted(methods=[name])).cells
    assert {cell.also for cell in cells if cell.method == name} == {()}


def test_records_of_a_file_are_told_by_themselves(call: Call, mine: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    for words in (["--seeds", "0,1"], ["--set", "weight=5"]):
        said = call("run", f"{mine}:Mine", *SMALL, "--memory", "20", "--out", out, *words)
        assert said.status == 0, said
    call("run", "finetune", *SMALL, "--seeds", "0,1", "--out", out)
    REGISTERED.clear()  # another process, which knows of no file
    said = call("report", out, "--no-page", "--out", tmp_path / "report")
    assert said.status == 0, said
    lines = [line for line in said.out.splitlines() if line.startswith("Mine")]
    for weight in (2, 5):  # the class's own value, and the other one
        assert any(f"(stream_batch=70, filters=1, weight={weight})" in line for line in lines)
    assert "without AI" not in said.err
    only = ["report", out, "--no-page", "--out", tmp_path / "report", "--methods"]
    refused(call(*only, "mine.py:Mine"), "cannot read mine.py")
    said = call(*only, f"{mine}:Mine")
    assert said.status == 0, said
    assert look_of("mine") == REGISTERED["mine"].method.look


def test_a_record_is_no_reason_to_import_code(call: Call, mine: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "runs", tmp_path / "again"
    call("run", f"{mine}:Mine", *SMALL, "--memory", "20", "--out", out)
    REGISTERED.clear()
    place = f"{out / 'results.jsonl'}:1"
    refused(call("rerun", place, "--out", again), "of the method 'mine' from outside", "--method")
    said = call("rerun", place, "--method", f"{mine}:Mine", "--out", again)
    assert said.status == 0, said
    assert "identical to the last digit" in said.out


def test_worker_processes_receive_the_file(call: Call, mine: Path, tmp_path: Path) -> None:
    words = ["reproduce", "table1", "--methods", f"{mine}:Mine", "--seeds", "0", "--memory", "100"]
    said = call(*words, *SMALL, "--out", tmp_path / "out", "--processes", "1")
    assert said.status == 0, said
    assert "Mine" in said.out
    assert "2 of 2 done" in said.err

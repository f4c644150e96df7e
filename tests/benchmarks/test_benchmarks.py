"""Benchmarks measure nothing twice, and run where little is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from benchmarks import calibration, gpu

from bison_ocl.data import load


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(gpu, "DEVICE", "cpu")
    monkeypatch.setattr(gpu, "driver", lambda: "1.0")
    monkeypatch.setattr(gpu, "commit", lambda: "a")
    return tmp_path / "gpu.json"


def fail() -> float:
    raise ValueError("no")


def test_a_stopped_table_goes_on(path: Path) -> None:
    gpu.Table(path).keep(["rows", "er"], lambda: {"ms": 1.0})
    table = gpu.Table(path)
    table.keep(["rows", "er"], lambda: {"ms": 2.0})
    table.keep(["rows", "bison"], lambda: {"ms": 3.0})
    assert json.loads(path.read_text())["rows"] == {"er": {"ms": 1.0}, "bison": {"ms": 3.0}}


def test_what_failed_is_tried_again(path: Path) -> None:
    gpu.Table(path).keep(["pieces"], fail)
    assert json.loads(path.read_text())["pieces"] == {"failed": "ValueError: no"}
    gpu.Table(path).keep(["pieces"], lambda: {"ms": 2.0})
    assert json.loads(path.read_text())["pieces"] == {"ms": 2.0}


def test_edited_source_begins_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for commit in (None, "a+changed"):
        monkeypatch.setattr(gpu, "commit", lambda commit=commit: commit)
        for ms in (1.0, 2.0):
            gpu.Table(path).keep(["pieces"], lambda ms=ms: {"ms": ms})
            assert json.loads(path.read_text())["pieces"] == {"ms": ms}


def test_what_depends_on_the_rest_is_reckoned_again(path: Path) -> None:
    for ms in (1.0, 2.0):
        gpu.Table(path).keep(["roofline"], lambda ms=ms: {"ms": ms}, again=True)
    assert json.loads(path.read_text())["roofline"] == {"ms": 2.0}


def test_a_step_that_failed_is_not_the_fastest() -> None:
    steps = {"bf16, 10 seeds": {"ms": 4.0}, "bf16, 1 seeds": {"ms": 1.0}}
    assert gpu.fastest(steps | {"bf16, 10 seeds, compiled": {"ms": 2.0}}) == 2.0
    assert gpu.fastest(steps | {"bf16, 10 seeds, compiled": {"failed": "no"}}) == 4.0


def test_another_commit_begins_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu.Table(path).keep(["pieces"], lambda: {"ms": 1.0})
    monkeypatch.setattr(gpu, "commit", lambda: "b")
    gpu.Table(path).keep(["roofline"], lambda: {"ms": 2.0})
    found = json.loads(path.read_text())
    assert found["commit"] == "b"
    assert "pieces" not in found


WITHOUT_FILES = """
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.split(".")[0] in ("PIL", "safetensors"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from benchmarks.in_service import Learner, commit, environment, images
x, y = images(20, 8)
learner = Learner("bison", memory=10, filters=2)
learner.test_then_train(x, y)
print(commit(), environment("cpu"), learner.predict(x[0]))
"""


def test_a_learner_in_service_needs_torch_and_numpy_alone() -> None:
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", WITHOUT_FILES], cwd=root, check=True)


def test_the_page_of_a_learner_gives_the_recorded_calibration_errors() -> None:
    page = " ".join(Path("docs/LEARNER.md").read_text().split())
    cells = json.loads(calibration.RESULT.read_text())["cells"]
    shown = ["accuracy", "error_as_they_are", "error_by_rule", "error_fitted"]
    for cell in cells.values():
        for method, runs in cell["methods"].items():
            means = " | ".join(f"{mean(run[name] for run in runs):.1f}" for name in shown)
            memory = f"{cell['memory']} ({cell['calibration']})"
            assert f"| {memory} | {method.upper()} | {means} | {len(runs)} |" in page
    runs = cells["split-digits"]["methods"]["er"]
    first, fitted, best, right = (
        mean(run[f"error_{name}"] for run in runs)
        for name in ("as_they_are", "fitted", "best", "if_right")
    )
    assert fitted > first / 2
    assert "ER's error does not quite halve" in page
    assert f"leaves {best:.1f} points" in page
    tested = len(load("split-digits").test)
    assert tested < cells["split-digits"]["tested"]
    assert f"({tested}) show {right:.1f} even" in page
    by_rule, fitted = (
        mean(run[f"error_{name}"] for run in cells["split-digits"]["methods"]["bison"])
        for name in ("by_rule", "fitted")
    )
    assert by_rule < fitted
    assert "BISON's default temperature is better than the fitted one" in page


def page_and_records(name: str) -> tuple[str, dict[str, Any]]:
    folder = Path(__file__).parents[2] / "benchmarks"
    page = " ".join((folder / "README.md").read_text("utf-8").split())
    records: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return page, records


def test_latency_and_endurance_of_a_learner_are_as_recorded_and_within_their_bounds() -> None:
    page, records = page_and_records("in_service")
    for device, name, digits, bound in (("CPU", "latency", 0, 4), ("H200", "latency_cuda", 1, 2)):
        found = records[name]
        idle, learning = (f"{found['median_ms'][one]:.{digits}f}" for one in ("idle", "learning"))
        cells = f"| {device} | {idle} ms | {learning} ms | {found['ratio']:.1f} |"
        assert f"{cells} medians of {found['predictions']:,};" in page
        assert found["ratio"] <= bound
    assert records["importing"]["ratio"] <= 1.3
    assert f"Importing `Learner` takes {records['importing']['ratio']:.2f} times" in page
    endurance = records["endurance"]
    assert endurance["steps"] == 10_000
    assert endurance["last_over_second"] <= 1.1
    assert f"takes {endurance['last_over_second']:.2f} times as long as the second" in page
    resident = endurance["resident_mib_by_tenth"]
    assert max(resident[1:]) <= 1.02 * resident[1]
    assert f"resident memory stays at {resident[-1]:.0f} MiB" in page


def test_the_cost_of_testing_first_is_as_recorded_and_within_its_bounds() -> None:
    page, records = page_and_records("prequential")
    ratios = {}
    for place, found in records.items():
        overall = found["methods"]["bison"]["overall"]
        assert overall["ratio_refresh_20"] <= 2.2
        assert overall["gained_over_refresh_1"] >= -1
        ratios[place] = " | ".join(f"{overall[f'ratio_refresh_{n}']:.1f}" for n in (20, 1))
    (run,) = records["split-cifar10, memory 1000"]["methods"]["bison"]["runs"]
    accuracies = " and ".join(f"{run[f'accuracy_refresh_{n}']:.1f} %" for n in (20, 1))
    assert f"one seed | {ratios['split-cifar10, memory 1000']} | {accuracies} |" in page
    of_400 = records["split-digits, memory 400"]["methods"]["bison"]
    cost = f"costs {-of_400['overall']['gained_over_refresh_1']:.2f} points"
    deviation = f"(standard error {of_400['overall']['standard_error']:.1f})"
    shown = f"{len(of_400['runs'])} seeds | {ratios['split-digits, memory 400']}"
    assert f"memory 400, {shown} | the default {cost} {deviation} |" in page
    of_100 = records["split-digits, memory 100"]["methods"]["bison"]
    shown = f"{len(of_100['runs'])} seeds | {ratios['split-digits, memory 100']}"
    assert f"memory 100, {shown} | the same:" in page
    assert of_100["overall"]["gained_over_refresh_1"] == 0

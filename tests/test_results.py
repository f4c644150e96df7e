"""Records as tables: every run, task and class once, with the numbers of the records."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from bison_ocl import results
from bison_ocl.errors import UserError

PROJECT = Path(__file__).parents[1]
DEMO = PROJECT / "results" / "demo"

pytest.importorskip("pandas")


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_one_row_per_run_with_metrics_settings_and_provenance() -> None:
    found = results.load(DEMO)
    records = lines(DEMO)
    assert len(found) == len(records)
    assert not found.duplicated(["method", "memory", "seed", "readout"]).any()
    for row, record in zip(found.to_dict("records"), records, strict=True):
        assert (row["item"], row["readout"]) == ("demo", "own")
        for name in ("method", "data", "memory", "seed", "commit"):
            assert row[name] == record[name], name
        assert row["AA"] == record["metrics"]["AA"]
        assert row["AI"] is not None  # FINE-TUNE is there
        assert row["total_s"] == record["timing"]["total_s"]
        assert row["set.lr"] == record["settings"]["lr"]
    means = found.groupby("method")["AA"].mean()
    assert means["finetune"] < means["er"] < means["bison"]


def test_settings_of_all_methods_are_beside_each_other() -> None:
    found = list(results.load(DEMO).columns)
    at = [found.index(name) for name in found if name.startswith("set.")]
    assert "set.beta" in found
    assert at == list(range(at[0], at[0] + len(at)))
    assert found.index("AA") < at[0] < found.index("train_s")


def test_one_row_per_task_and_per_class() -> None:
    records = lines(DEMO)
    tasks, classes = (results.load(str(DEMO), per=per) for per in ("task", "class"))
    assert len(tasks) == 15 * len(records)
    last = tasks[tasks["after"] == 5].groupby(["method", "seed"])["accuracy"].mean()
    for record in records:
        place = record["method"], record["seed"]
        assert last[place] == pytest.approx(record["metrics"]["AA"])
        own = classes[(classes["method"] == place[0]) & (classes["seed"] == place[1])]
        assert len(own) == 2 + 4 + 6 + 8 + 10
        assert own[own["after"] == 5]["images"].sum() == 340
        assert (own["correct"] <= own["images"]).all()
        assert own[own["after"] == 5]["predicted"].sum() == 340


def test_other_readouts_have_rows_of_their_own() -> None:
    found = results.load(PROJECT / "results" / "table1")
    assert set(found["readout"]) >= {"own", "ncm"}
    pairs = found[found["method"] == "er"].groupby("readout").size()
    assert pairs["ncm"] == pairs["own"]
    assert not found["method"].str.contains(r"\+").any()


def test_bad_input_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="no file or folder"):
        results.load(tmp_path / "nowhere")
    with pytest.raises(UserError, match="no path given"):
        results.load()
    with pytest.raises(UserError, match="choose from run, task, class"):
        results.load(DEMO, per="seed")  # type: ignore[arg-type]
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError, match=r"pip install 'bison-ocl\[analysis\]'"):
        results.load(DEMO)

"""What the page is told: the report's charts and tables, once each, and where runs come from."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from typing import Any

import pytest

from bison_ocl.experiments.records.record import Losses
from bison_ocl.methods import METHODS
from bison_ocl.report.figures.panels import look
from bison_ocl.report.page.contents import contents
from bison_ocl.report.page.plain import Contents, Pool, plain
from bison_ocl.report.page.tables import trimmed
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.layouts import overview
from tests.report.records import records
from tests.report.studies import prepared, study


def place(found: Contents, item: str, number: int = 0) -> Contents:
    (one,) = [one for one in found["items"] if one["name"] == item]
    shown: Contents = one["places"][number]
    return shown


def table(found: Contents, item: str, view: str = "summary", number: int = 0) -> Contents:
    shown: Contents = place(found, item, number)["views"][view]["table"]
    return shown


def line(found: Contents, item: str, name: str, view: str = "summary") -> Contents:
    (one,) = [one for one in table(found, item, view)["lines"] if one["name"] == name]
    return one


def chart(found: Contents, item: str, view: str, choice: str = "", number: int = 0) -> Contents:
    shown: Contents = place(found, item, number)["views"][view]["choices"][choice][0]
    return shown


def of_series(shown: Contents, name: str) -> Contents:
    (one,) = [one for one in shown["series"] if one["name"] == name]
    return one


def test_a_line_has_mean_deviation_and_number_of_its_runs() -> None:
    found = contents(study("demo", seeds=3))
    values = [100 * r.metrics.AA for r in records("demo", 3) if r.method == "bison"]
    cell = line(found, "demo", "BISON")["cells"][0]
    assert cell["text"] == f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"
    assert cell["value"] == pytest.approx(statistics.mean(values), abs=0.00006)
    assert cell["count"] == "(3)"
    assert cell["rank"] == 1
    assert "rank" not in line(found, "demo", "FINE-TUNE")["cells"][0]


def test_a_single_run_has_no_deviation() -> None:
    found = contents(study("demo", seeds=1))
    assert "±" not in line(found, "demo", "ER")["cells"][0]["text"]
    assert found["about"].startswith("3 runs")


def test_charts_are_those_of_the_figures() -> None:
    found = contents(study("demo", seeds=3))
    curve = of_series(chart(found, "demo", "curves"), "BISON")
    assert curve["x"] == [1, 2, 3, 4, 5]
    assert curve["method"] == "bison"
    bar = of_series(chart(found, "demo", "compare", "AA ↑"), "BISON")
    assert bar["x"] == [line(found, "demo", "BISON")["cells"][0]["value"]]
    assert list(place(found, "demo")["views"]["interplay"]["choices"]) == [
        "AF_table ↓",
        "AF (text) ↓",
    ]


def test_a_run_leads_to_its_settings_class_order_and_origin() -> None:
    found = contents(study("demo"))
    (record,) = [r for r in records("demo", 2) if (r.method, r.seed) == ("bison", 1)]
    (run,) = [one for one in table(found, "demo", "runs")["lines"] if one["run"] == "100-BISON-1"]
    assert found["settings"][run["settings"]] == record.settings
    assert found["orders"][run["order"]] == record.class_order
    origin = found["origins"][run["origin"]]
    assert origin["commit"] == record.commit
    assert vars(record.environment).items() <= origin.items()
    assert run["accuracy"][-1] == [round(100 * share, 1) for share in record.accuracy[-1]]


def test_what_runs_share_is_there_once() -> None:
    found = contents(study("demo", seeds=3))
    assert len(found["origins"]) == 1
    assert len(found["orders"]) == 3  # one per seed, whatever the method
    pool = Pool()
    assert [pool.place(value) for value in ({"a": 1}, [1], {"a": 1})] == [0, 1, 0]


def test_accuracies_end_with_the_last_task_learned() -> None:
    assert trimmed([0.5, 0.0, 0.25, 0.0]) == [50, 0, 25]
    assert trimmed([0.0]) == []


def test_the_paper_stands_beside_what_it_prints() -> None:
    found = contents(study("ablation", "demo", seeds=1))
    ours, paper, difference = line(found, "ablation", "w/o PAF")["cells"][:3]
    assert paper["text"] == "23.4 ± 0.6"
    assert difference["value"] == pytest.approx(ours["value"] - 23.4, abs=0.0002)
    assert difference["size"] in ("close", "near", "far")
    assert {column["title"] for column in table(found, "ablation")["columns"][1:4]} == {
        *("ours", "paper", "Δ"),
    }
    assert "paper" not in [column["title"] for column in table(found, "demo")["columns"]]


def test_settings_that_an_item_sets_for_all_are_no_variant() -> None:
    found = contents(study("feature-enhancement", seeds=1))
    places = range(len(found["items"][0]["places"]))
    tables = [table(found, "feature-enhancement", number=number) for number in places]
    names = {one["name"] for shown in tables for one in shown["lines"]}
    assert {"SCR", "OnPro", "PCR", "BISON"} <= names
    assert line(found, "feature-enhancement", "BISON")["cells"][1]["text"].startswith("33.5")


def test_runs_by_another_setting_than_the_items_are_not_set_beside_the_paper() -> None:
    small = [replace(r, stream="natural") for r in records("table1", 1) if r.method == "bison"]
    found = contents(Study({"feature-enhancement": prepared(small)}, []))
    shown = table(found, "feature-enhancement")
    assert shown["lines"][0]["name"] == "BISON (buffer_batch=10, filters=20)"
    assert "paper" not in [column["title"] for column in shown["columns"]]


def test_stars_and_ranks_are_those_of_the_tables() -> None:
    shown = study("buffer-batch", seeds=9)
    (made,) = overview("buffer-batch", shown.items["buffer-batch"])
    lines = {one["name"]: one["cells"] for one in table(contents(shown), "buffer-batch")["lines"]}
    starred = 0
    for one in made.lines:
        if one.label.text in lines:
            cells = [cell for cell in lines[one.label.text] if "count" in cell]
            run = [cell for cell in one.cells if cell.ours]
            assert [cell.get("differs", False) for cell in cells] == [c.differs for c in run]
            assert [cell.get("rank", 0) for cell in cells] == [c.rank for c in run]
            starred += sum(cell.differs for cell in run)
    assert starred


def test_settings_that_vary_are_compared_below_every_method() -> None:
    found = contents(study("buffer-batch", "sensitivity", seeds=1))
    bars, swept = place(found, "buffer-batch")["views"]["compare"]["choices"]["AA ↑"]
    assert len(bars["y"]["names"]) == len(table(found, "buffer-batch")["lines"])
    assert of_series(swept, "BISON")["x"] == [10, 16, 32, 64, 100]
    _, grid = place(found, "sensitivity")["views"]["compare"]["choices"]["AA ↑"]
    assert len(grid["map"]["values"]) == 4


def test_a_record_that_lacks_a_later_setting_is_of_the_same_line() -> None:
    found = [
        replace(r, settings={k: v for k, v in r.settings.items() if k != "joint"})
        if (r.method, r.seed) == ("er", 0)
        else r
        for r in records("demo", 2)
    ]
    shown = table(contents(Study({"demo": prepared(found)}, [])), "demo")
    assert [one["name"] for one in shown["lines"]] == ["FINE-TUNE", "ER", "BISON"]


@pytest.mark.parametrize("method", METHODS)
def test_a_method_looks_as_in_the_figures(method: str) -> None:
    found = plain(look(method))
    assert found["colour"] == look(method).colour
    assert (found["symbol"] == "circle") == (look(method).marker == "o")


def test_records_without_what_is_optional() -> None:
    nothing: dict[str, Any] = {"losses": None, "confusion": None, "parameters": None}
    bare = [replace(r, log=[{}] * 5, **nothing) for r in records("demo", 2)]
    found = contents(Study({"demo": prepared(bare)}, []))
    assert not {"log", "loss", "confusion"} & place(found, "demo")["views"].keys()
    assert line(found, "demo", "BISON")["cells"][0]["count"] == "(2)"
    titles = [column["title"] for column in table(found, "demo", "time")["columns"]]
    assert "parameters" not in titles


def test_a_missing_reference_leaves_intransigence_out() -> None:
    alone = [record for record in records("demo", 2) if record.method != "finetune"]
    found = contents(Study({"demo": prepared(alone)}, ["FINE-TUNE did not run"]))
    views = place(found, "demo")["views"]
    assert "interplay" not in views
    assert "AI ↓" not in views["compare"]["choices"]
    assert found["warnings"] == ["FINE-TUNE did not run"]


def test_a_loss_that_diverged_is_a_gap() -> None:
    broken = [replace(r, losses=Losses([1, 2], [None, None])) for r in records("demo", 1)]
    found = contents(Study({"demo": prepared(broken)}, []))
    drawn = of_series(chart(found, "demo", "loss"), "ER")
    assert (drawn["x"], drawn["y"]) == ([1, 2], [None, None])


def test_it_is_plain_json() -> None:
    found = contents(study("confusion", "demo"))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_classes_have_names() -> None:
    found = contents(study("confusion", seeds=1))
    assert "cat" in chart(found, "confusion", "confusion")["x"]["names"]
    assert place(found, "confusion")["name"] == "Split CIFAR-10, order:confusion"


def test_the_title_names_the_study() -> None:
    assert contents(study("demo"))["title"] == "demo: 3 methods on Split Digits"
    assert contents(study("ablation", seeds=1))["title"].endswith("(paper, Table 2)")
    assert contents(study("demo", "confusion", seeds=1))["title"] == "Results: demo, confusion"

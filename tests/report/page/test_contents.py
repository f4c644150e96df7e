"""What the page is told: the records' numbers, once each, and where they come from."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace

import pytest

from bison_ocl.experiments.records.record import Losses, Record
from bison_ocl.methods import METHODS, method_class
from bison_ocl.report.figures.drawing.style import look
from bison_ocl.report.page.contents import Pool, contents, drawn, trimmed
from bison_ocl.report.page.row import Contents
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.layouts import tables
from tests.report.records import records
from tests.report.studies import prepared, study


def rows(found: Contents, item: str) -> list[Contents]:
    (one,) = [one for one in found["items"] if one["name"] == item]
    lines: list[Contents] = one["rows"]
    return lines


def row(found: Contents, item: str, name: str) -> Contents:
    (one,) = [one for one in rows(found, item) if one["name"] == name]
    return one


def test_a_row_has_mean_deviation_and_number_of_its_runs() -> None:
    found = contents(study("demo", seeds=3))
    values = [100 * r.metrics.AA for r in records("demo", 3) if r.method == "bison"]
    mean, std, n = row(found, "demo", "BISON")["metrics"]["AA"]
    assert mean == pytest.approx(statistics.mean(values), abs=0.00006)
    assert std == pytest.approx(statistics.stdev(values), abs=0.00006)
    assert n == 3


def test_a_single_run_has_no_deviation() -> None:
    found = contents(study("demo", seeds=1))
    assert row(found, "demo", "ER")["metrics"]["AA"][1:] == [None, 1]


def test_a_run_leads_to_its_settings_class_order_and_origin() -> None:
    found = contents(study("demo"))
    (record,) = [r for r in records("demo", 2) if (r.method, r.seed) == ("bison", 1)]
    line = row(found, "demo", "BISON")
    (run,) = [run for run in line["runs"] if run["seed"] == 1]
    assert found["settings"][line["settings"]] == record.settings
    assert found["orders"][run["order"]] == record.class_order
    origin = found["origins"][run["origin"]]
    assert origin["commit"] == record.commit
    assert vars(record.environment).items() <= origin.items()


def test_what_runs_share_is_there_once() -> None:
    found = contents(study("demo", seeds=3))
    assert len(found["origins"]) == 1
    assert len(found["orders"]) == 3  # one a seed, whatever the method
    pool = Pool()
    assert [pool.place(value) for value in ({"a": 1}, [1], {"a": 1})] == [0, 1, 0]


def test_accuracies_end_with_the_last_task_learned() -> None:
    assert trimmed([0.5, 0.0, 0.25, 0.0]) == [50, 0, 25]
    assert trimmed([0.0]) == []


def test_the_paper_stands_beside_what_it_prints() -> None:
    found = contents(study("ablation", "demo", seeds=1))
    assert row(found, "ablation", "w/o PAF")["paper"]["AA"] == [23.4, 0.6]
    assert "paper" not in row(found, "demo", "BISON")


def test_settings_that_an_item_sets_for_all_are_no_variant() -> None:
    found = contents(study("feature-enhancement", seeds=1))
    names = {line["name"] for line in rows(found, "feature-enhancement")}
    assert {"SCR", "OnPro", "PCR", "BISON"} <= names
    paper = [one["paper"]["AA"][0] for one in rows(found, "feature-enhancement") if "paper" in one]
    assert 33.5 in paper


def test_runs_by_another_setting_than_the_items_are_not_set_beside_the_paper() -> None:
    small = [replace(r, stream="natural") for r in records("table1", 1) if r.method == "bison"]
    found = contents(Study({"feature-enhancement": prepared(small)}, []))
    line = rows(found, "feature-enhancement")[0]
    assert line["name"] == "BISON (buffer_batch=10, filters=20)"
    assert "paper" not in line


def test_stars_are_those_of_the_tables() -> None:
    shown = study("buffer-batch", seeds=9)
    lines = rows(contents(shown), "buffer-batch")
    (table,) = tables("buffer-batch", shown.items["buffer-batch"])
    starred = {
        line.label.text: [
            column.measure.name
            for cell, column in zip(line.cells, table.columns, strict=True)
            if cell.differs
        ]
        for line in table.lines
    }
    assert any(starred.values())
    (main,) = [line for line in lines if line.get("main")]
    for line in lines:
        if line["method"] == "bison":
            assert line.get("differs", []) == starred[str(line["variant"]["buffer_batch"])]
    assert main["variant"]["buffer_batch"] == 10


def test_a_row_knows_in_what_it_differs_from_others() -> None:
    found = contents(study("buffer-batch", seeds=1))
    sizes = [line["variant"].get("buffer_batch") for line in rows(found, "buffer-batch")]
    assert [size for size in sizes if size] == [10, 16, 32, 64, 100]


def test_a_record_that_lacks_a_later_setting_is_of_the_same_row() -> None:
    found = records("demo", 2)
    for record in found:
        if record.method == "er" and record.seed == 0:
            del record.settings["joint"]
    shown = rows(contents(Study({"demo": prepared(found)}, [])), "demo")
    assert [line["name"] for line in shown] == ["FINE-TUNE", "ER", "BISON"]


@pytest.mark.parametrize("method", METHODS)
def test_a_method_looks_as_in_the_figures(method: str) -> None:
    assert drawn(look(method))["colour"] == method_class(method).look.colour


def bare(record: Record) -> Record:
    nothing = {"losses": None, "confusion": None, "parameters": None, "commit": None}
    return replace(record, log=[{}] * len(record.accuracy), **nothing)


def test_records_without_what_is_optional() -> None:
    found = contents(Study({"demo": prepared([bare(r) for r in records("demo", 2)])}, []))
    line = row(found, "demo", "BISON")
    assert not {"log", "losses", "confusion"} & line.keys()
    assert "parameters" not in line["costs"]
    assert line["metrics"]["AA"][2] == 2


def test_a_missing_reference_leaves_intransigence_out() -> None:
    alone = [record for record in records("demo", 2) if record.method != "finetune"]
    found = contents(Study({"demo": prepared(alone)}, ["FINE-TUNE did not run"]))
    assert "AI" not in row(found, "demo", "BISON")["metrics"]
    assert found["warnings"] == ["FINE-TUNE did not run"]


def test_a_loss_that_diverged_is_a_gap() -> None:
    broken = [replace(r, losses=Losses([1, 2], [None, None])) for r in records("demo", 1)]
    line = row(contents(Study({"demo": prepared(broken)}, [])), "demo", "ER")
    assert line["losses"] == {"steps": [1, 2], "loss": [None, None]}


def test_it_is_plain_json() -> None:
    found = contents(study("confusion", "demo"))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_classes_have_names() -> None:
    found = contents(study("confusion", seeds=1))
    (place,) = found["places"]
    assert place["classes"][3] == "cat"
    assert place["name"] == "Split CIFAR-10, order:confusion"

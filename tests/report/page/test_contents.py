"""What the page holds: the report's charts and tables, once each, and the origin of runs."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest

from bison_ocl.experiments.records.record import Losses
from bison_ocl.report.figures.chart import Chart, Series
from bison_ocl.report.page.contents import Contents, PlaceViews, contents
from bison_ocl.report.page.tables import Details, Line, PageTable, numbers_of, trimmed
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.layouts import overview
from tests.report.records import records
from tests.report.studies import prepared, study


def place(found: Contents, item: str, number: int = 0) -> PlaceViews:
    return [one for one in found.places if one.item == item][number]


def table(found: Contents, item: str, view: str = "summary", number: int = 0) -> PageTable:
    shown = place(found, item, number).views[view].table
    assert shown is not None
    return shown


def names(shown: PageTable) -> list[str]:
    return [line.cells[0].text for line in shown.lines]


def line(found: Contents, item: str, name: str, view: str = "summary") -> Line:
    (one,) = [one for one in table(found, item, view).lines if one.cells[0].text == name]
    return one


def chart(found: Contents, item: str, view: str, choice: str = "", number: int = 0) -> Chart:
    return place(found, item, number).views[view].charts[choice][0]


def of_series(shown: Chart, name: str) -> Series:
    (one,) = [one for one in shown.series if one.name == name]
    return one


def test_a_line_has_mean_deviation_and_number_of_its_runs() -> None:
    found = contents(study("demo", seeds=3))
    values = [100 * r.metrics.AA for r in records("demo", 3) if r.method == "bison"]
    cell = line(found, "demo", "BISON").cells[1]
    assert cell.text == f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"
    assert cell.count == "(3)"
    assert cell.rank == 1
    assert line(found, "demo", "FINE-TUNE").cells[1].rank == 0


def test_a_single_run_has_no_deviation() -> None:
    found = contents(study("demo", seeds=1))
    assert "±" not in line(found, "demo", "ER").cells[1].text
    assert found.about.startswith("3 runs")


def test_charts_are_those_of_the_figures() -> None:
    found = contents(study("demo", seeds=3))
    curve = of_series(chart(found, "demo", "curves"), "BISON")
    assert curve.x == [1, 2, 3, 4, 5]
    assert curve.method == "bison"
    bar = of_series(chart(found, "demo", "compare", "AA ↑"), "BISON")
    assert line(found, "demo", "BISON").cells[1].text.startswith(f"{bar.x[0]:.1f} ±")
    choices = place(found, "demo").views["interplay"].charts
    assert list(choices) == ["AF_table ↓", "AF (text) ↓"]


def test_the_numbers_of_curves_are_below_them() -> None:
    shown = chart(contents(study("demo", seeds=3)), "demo", "curves")
    below = numbers_of(shown)
    assert below is not None
    assert below.head == ["method", "1", "2", "3", "4", "5"]
    drawn = of_series(shown, "ER")
    (er,) = [one for one in below.lines if one.method == "er"]
    assert [cell.text for cell in er.cells[1:]] == list(drawn.hover)
    assert numbers_of(chart(contents(study("demo", seeds=3)), "demo", "loss")) is None


def test_a_run_leads_to_its_settings_class_order_and_origin() -> None:
    details = contents(study("demo")).details
    (record,) = [r for r in records("demo", 2) if (r.method, r.seed) == ("bison", 1)]
    (run,) = [one for one in details.runs if one["cells"][:2] == ["BISON", "1"]]
    assert details.shared[run["settings"]] == record.settings
    assert details.shared[run["order"]] == record.class_order
    origin = details.shared[run["origin"]]
    assert origin["commit"] == record.commit
    assert vars(record.environment).items() <= origin.items()
    assert run["accuracy"][-1] == [round(100 * share, 1) for share in record.accuracy[-1]]


def test_a_run_has_a_line_of_its_own() -> None:
    found = contents(study("demo", "confusion"))
    shown = table(found, "demo", "runs")
    assert shown.runs is not None
    runs = found.details.runs[shown.runs.start : shown.runs.stop]
    assert [run["cells"][:2] for run in runs[-2:]] == [["BISON", "0"], ["BISON", "1"]]
    assert shown.caption == "6 runs, Split Digits, M = 100"
    assert runs[-1]["cells"][shown.head.index("parameters")] == "1,096,343"


def test_what_runs_share_is_there_once() -> None:
    runs = contents(study("demo", seeds=3)).details.runs
    assert len({run["origin"] for run in runs}) == 1
    assert len({run["order"] for run in runs}) == 3  # one per seed, whatever the method
    details = Details()
    assert [details.share(value) for value in ({"a": 1}, [1], {"a": 1})] == [0, 1, 0]


def test_accuracies_end_with_the_last_task_learned() -> None:
    assert trimmed([0.5, 0.0, 0.25, 0.0]) == [50, 0, 25]
    assert trimmed([0.0]) == []


def test_ours_is_followed_by_the_papers_number() -> None:
    found = contents(study("ablation", "demo", seeds=1))
    _, ours, paper, difference = line(found, "ablation", "w/o PAF").cells[:4]
    assert paper.text == "23.4 ± 0.6"
    assert float(difference.text) == pytest.approx(float(ours.text) - 23.4, abs=0.11)
    assert difference.size in ("close", "near", "far")
    assert table(found, "ablation").head[1:4] == ["AA ↑", "paper", "Δ"]
    assert "paper" not in table(found, "demo").head


def test_settings_that_an_item_sets_for_all_are_no_variant() -> None:
    found = contents(study("feature-enhancement", seeds=1))
    tables = [table(found, "feature-enhancement", number=n) for n in range(len(found.places))]
    assert {"SCR", "OnPro", "PCR", "BISON"} <= {name for one in tables for name in names(one)}
    assert line(found, "feature-enhancement", "BISON").cells[2].text.startswith("33.5")


def test_runs_by_another_setting_than_the_items_are_not_compared_with_the_paper() -> None:
    small = [replace(r, stream="natural") for r in records("table1", 1) if r.method == "bison"]
    found = contents(Study({"feature-enhancement": prepared(small)}, []))
    shown = table(found, "feature-enhancement")
    assert names(shown)[0] == "BISON (buffer_batch=10, filters=20)"
    assert "paper" not in shown.head


def test_stars_and_ranks_are_those_of_the_tables() -> None:
    shown = study("buffer-batch", seeds=9)
    (made,) = overview("buffer-batch", shown.items["buffer-batch"])
    found = contents(shown)
    starred = 0
    for row in made.rows:
        if row.label.text in names(table(found, "buffer-batch")):
            cells = [c for c in line(found, "buffer-batch", row.label.text).cells if c.count]
            run = [cell for cell in row.cells if cell.ours]
            assert [cell.differs for cell in cells] == [cell.differs for cell in run]
            assert [cell.rank for cell in cells] == [cell.rank for cell in run]
            starred += sum(cell.differs for cell in run)
    assert starred


def test_a_setting_that_varies_is_a_choice() -> None:
    found = contents(study("buffer-batch", "sensitivity", seeds=1))
    bars = chart(found, "buffer-batch", "compare", "AA ↑")
    assert len(bars.y.names) == len(table(found, "buffer-batch").lines)
    swept = chart(found, "buffer-batch", "compare", "AA ↑ over buffer_batch")
    assert of_series(swept, "BISON").x == [10, 16, 32, 64, 100]
    grid = chart(found, "sensitivity", "compare", "AA ↑ over beta and lambda")
    assert grid.map is not None
    assert len(grid.map.values) == 4


def test_a_record_that_lacks_a_later_setting_is_of_the_same_line() -> None:
    found = [
        replace(r, settings={k: v for k, v in r.settings.items() if k != "joint"})
        if (r.method, r.seed) == ("er", 0)
        else r
        for r in records("demo", 2)
    ]
    shown = table(contents(Study({"demo": prepared(found)}, [])), "demo")
    assert names(shown) == ["FINE-TUNE", "ER", "BISON"]


def test_records_without_what_is_optional() -> None:
    nothing: dict[str, Any] = {"losses": None, "confusion": None, "parameters": None}
    bare = [replace(r, log=[{}] * 5, **nothing) for r in records("demo", 2)]
    found = contents(Study({"demo": prepared(bare)}, []))
    views = place(found, "demo").views
    reasons = {name: views[name].missing for name in ("log", "loss", "confusion")}
    assert reasons["loss"] == "Not shown: no run recorded a loss."
    assert all(reason.startswith("Not shown: ") for reason in reasons.values())
    assert not any(views[name].charts for name in reasons)
    assert line(found, "demo", "BISON").cells[1].count == "(2)"
    assert "parameters" not in table(found, "demo", "time").head


def test_a_missing_reference_leaves_intransigence_out() -> None:
    alone = [record for record in records("demo", 2) if record.method != "finetune"]
    found = contents(Study({"demo": prepared(alone)}, ["FINE-TUNE did not run"]))
    views = place(found, "demo").views
    assert "FINE-TUNE did not run" in views["interplay"].missing
    assert "AI ↓" not in views["compare"].charts
    assert found.warnings == ["FINE-TUNE did not run"]


def test_a_method_that_does_not_train_on_the_stream_has_no_loss() -> None:
    flat = [
        replace(r, losses=Losses([1, 2], [0.0, 0.0])) if r.method == "er" else r
        for r in records("demo", 2)
    ]
    shown = chart(contents(Study({"demo": prepared(flat)}, [])), "demo", "loss")
    assert {one.name for one in shown.series} == {"FINE-TUNE", "BISON"}
    assert "No loss was recorded for ER." in shown.notes


def test_classes_have_names() -> None:
    found = contents(study("confusion", seeds=1))
    assert "cat" in chart(found, "confusion", "confusion").x.names
    assert place(found, "confusion").name == "Split CIFAR-10, order:confusion"


def test_the_title_names_the_study() -> None:
    assert contents(study("demo")).title == "demo: 3 methods on Split Digits"
    assert contents(study("ablation", seeds=1)).title.endswith("(paper, Table 2)")
    assert contents(study("demo", "confusion", seeds=1)).title == "Results: demo, confusion"


def test_curves_come_first_where_settings_were_swept() -> None:
    found = contents(study("demo", "buffer-batch", "sensitivity"))
    firsts = {
        item: next(iter(place(found, item).views["compare"].charts))
        for item in ("demo", "buffer-batch", "sensitivity")
    }
    assert firsts == {
        "demo": "AA ↑",
        "buffer-batch": "AA ↑ over buffer_batch",
        "sensitivity": "AA ↑ over beta and lambda",
    }


def test_a_dataset_keeps_its_whole_name() -> None:
    long = [replace(r, data_options={"validate": 0.1}) for r in records("demo", 1)]
    (at_place,) = contents(Study({"demo": prepared(long)}, [])).places
    assert at_place.name == "Split Digits, validated on 10 %"


def test_boxes_and_curves_of_methods_from_outside_have_the_same_colours() -> None:
    found = [r for r in records("demo", 1) if r.method == "er"]
    others = [replace(r, method=f"mine {number}") for number in range(4) for r in found]
    made = contents(Study({"demo": prepared([*found, *others]), "alone": prepared(others)}, []))
    boxes = {method: look for method, (_, look) in made.methods.items()}
    assert len({look.colour for look in boxes.values()}) == 5
    for place in made.places:
        (curves,) = place.views["curves"].charts[""]
        assert curves.series
        assert all(one.look == boxes[one.method] for one in curves.series)

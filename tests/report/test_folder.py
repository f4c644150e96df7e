"""A folder of results: every record is there, doubts are said in a line, nonsense is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.records.record import Record, Scores, as_values
from bison_ocl.report.study.names import variant
from bison_ocl.report.study.study import load
from tests.report.records import records


def put(folder: Path, *found: Record) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "results.jsonl", "a", encoding="utf-8") as file:
        file.writelines(json.dumps(as_values(record)) + "\n" for record in found)
    return folder / "results.jsonl"


def changed(record: Record, **changes: Any) -> Record:
    return replace(record, **changes)


def test_the_item_is_the_folders_name_and_the_papers_come_in_its_order(tmp_path: Path) -> None:
    study = tmp_path / "mine"
    for item in ("zebra", "ablation", "table1"):
        put(study / item, *records("generic", 1))
    put(study, *records("generic", 2))
    put(study / "table1" / "work" / "unit", *records("generic", 1))  # of a sweep that goes on
    found = load(study).items
    assert list(found) == ["table1", "ablation", "mine", "zebra"]
    assert len(found["mine"]) == 6


def test_ai_is_filled_in_also_from_another_item(tmp_path: Path) -> None:
    reference, er, bison = records("generic", 1)
    put(tmp_path / "table1", reference, er)
    put(tmp_path / "other", bison)
    study = load(tmp_path)
    found = study.items["other"][0]
    learned = [found.accuracy[task][task] for task in range(5)]
    lost = [reference.accuracy[task][task] - learned[task] for task in range(5)]
    assert pytest.approx(sum(lost) / 5) == found.metrics.AI
    assert study.items["table1"][0].metrics.AI == 0
    assert study.warnings == []


def test_a_run_takes_the_reference_of_its_own_item(tmp_path: Path) -> None:
    tune, er, _ = records("generic", 1)
    slower = replace(tune.timing, total_s=2 * tune.timing.total_s)
    other = [[accuracy / 2 for accuracy in row] for row in tune.accuracy]
    put(tmp_path / "one", tune, er)
    put(tmp_path / "two", changed(tune, accuracy=other, timing=slower), er)
    assert [found[0].metrics.AI for found in load(tmp_path).items.values()] == [0, 0]


def test_chosen_methods_keep_their_other_rules_and_their_ai(tmp_path: Path) -> None:
    put(tmp_path / "table1", *records("table1", 1))
    (found,) = load(tmp_path, methods=["er"]).items.values()
    assert {record.method for record in found} == {"er", "er + ncm"}
    assert all(record.metrics.AI is not None for record in found)


def test_another_rule_has_a_record_of_its_own(tmp_path: Path) -> None:
    found = [record for record in records("confusion", 1) if record.method == "er"]
    put(tmp_path / "confusion", *found)
    own, other = load(tmp_path).items["confusion"]
    assert (own.method, own.rule) == ("er", None)
    assert (other.method, other.rule) == ("er + ncm", "ncm")
    assert other.accuracy == found[0].also["ncm"].accuracy
    assert other.confusion == found[0].also["ncm"].confusion != own.confusion


def test_a_precision_that_all_runs_share_tells_none_apart(tmp_path: Path) -> None:
    put(tmp_path / "table1", *(changed(one, precision="bf16") for one in records("table1", 1)))
    (found,) = load(tmp_path).items.values()
    assert {variant(one) for one in found} == {"", "old_logits=position"}
    put(tmp_path / "table1", changed(records("table1", 1)[0], precision="fp32"))
    (found,) = load(tmp_path).items.values()
    assert {variant(one) for one in found} == {
        *("precision=bf16", "precision=fp32", "old_logits=position, precision=bf16")
    }


def test_a_rule_without_a_confusion_matrix_does_not_borrow_one(tmp_path: Path) -> None:
    (found,) = [record for record in records("confusion", 1) if record.method == "er"]
    found = changed(found, also={"ncm": replace(found.also["ncm"], confusion=None)})
    put(tmp_path / "confusion", found)
    assert load(tmp_path).items["confusion"][1].confusion is None


# --- files with names of their own ---


def test_a_file_is_a_study(tmp_path: Path) -> None:
    path = put(tmp_path / "table1", *records("generic", 1))
    assert list(load(path).items) == ["table1"]
    path = path.rename(tmp_path / "table1" / "pilot-7.jsonl")
    assert list(load(path).items) == ["pilot-7"]


def test_a_folder_without_results_gives_all_its_records(tmp_path: Path) -> None:
    for name in ("one", "two"):
        put(tmp_path / "mine", *records("generic", 1)).rename(tmp_path / "mine" / f"{name}.jsonl")
    put(tmp_path / "other", *records("generic", 1))
    (tmp_path / "other" / "notes.jsonl").write_text("not a record\n")  # no results, and left alone
    assert list(load(tmp_path / "mine").items) == ["one", "two"]
    assert list(load(tmp_path).items) == ["one", "two", "other"]


# --- what a reader should know ---


def test_different_commits_are_flagged(tmp_path: Path) -> None:
    one, two, three = records("generic", 1)
    put(
        tmp_path / "x",
        one,
        changed(two, commit="f" * 40),
        changed(three, commit="a" * 40 + "+changed"),
    )
    first, second = load(tmp_path).warnings
    assert first.startswith("the records come from 3 commits: ")
    assert "ffffffff (1)" in first
    assert "aaaaaaaa+changed (1)" in first
    assert second == "1 run of source that was edited after its commit"


def test_a_run_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    found = records("generic", 1)
    later = changed(found[1], commit=found[1].commit, timing=replace(found[1].timing, total_s=1.0))
    put(tmp_path / "x", *found, later)
    study = load(tmp_path)
    (twice,) = study.warnings
    assert twice.startswith("x: 1 line of runs that are there twice; the later counts")
    assert [record.timing.total_s for record in study.items["x"]].count(1.0) == 1
    assert len(study.items["x"]) == 3


def test_rules_of_one_network_scored_twice_are_put_together(tmp_path: Path) -> None:
    *others, found = records("generic", 1)
    score = Scores(found.accuracy, found.metrics)
    by = {rule: changed(found, also={rule: score}) for rule in ("ncm", "ncm-raw")}
    put(tmp_path / "x", *others, *by.values())
    assert {"ncm", "ncm-raw"} <= {record.rule for record in load(tmp_path).items["x"]}
    other = [[1.0 - a for a in row] for row in found.accuracy]
    put(tmp_path / "y", *others, by["ncm"], changed(by["ncm-raw"], accuracy=other))
    assert {record.rule for record in load(tmp_path / "y").items["y"]} == {None, "ncm-raw"}


def test_runs_of_another_number_of_tasks_are_left_out_and_said(tmp_path: Path) -> None:
    found = records("generic", 2)
    of_nine = {"accuracy": [[0.5] * 9 for _ in range(9)], "confusion": None, "log": [{}] * 9}
    longer = changed(found[-1], **of_nine)
    put(tmp_path / "x", *found[:-1], longer)
    study = load(tmp_path)
    assert len(study.items["x"]) == len(found) - 1
    (said,) = (warning for warning in study.warnings if "tasks" in warning)
    assert said.startswith("x: 1 run left out: the first of the same method has other tasks")
    assert f"(first: {longer.method}, {longer.data}, seed 1)" in said


def test_runs_without_their_reference_are_flagged(tmp_path: Path) -> None:
    put(tmp_path / "x", *records("generic", 2)[2:])
    study = load(tmp_path)
    assert study.warnings == [
        "x: 4 runs without AI: FINE-TUNE did not run on the same stream "
        "(first: er, split-digits, seed 0)"
    ]
    assert all(record.reference is None for record in study.items["x"])


def test_a_reference_in_another_precision_is_taken_if_need_be_and_flagged(tmp_path: Path) -> None:
    tune, _, bison = records("generic", 1)
    put(tmp_path / "table1", tune, changed(bison, precision="bf16"))
    study = load(tmp_path)
    assert "table1: AI of 1 run is relative to FINE-TUNE with another precision" in study.warnings
    put(tmp_path / "table1", changed(tune, precision="bf16"))
    study = load(tmp_path)
    assert not [warning for warning in study.warnings if "another precision" in warning]


def test_a_reference_without_what_was_set_is_flagged(tmp_path: Path) -> None:
    tune, er, _ = records("generic", 1)
    wide = changed(er, settings=er.settings | {"filters": 64})
    put(tmp_path / "x", tune, wide)
    assert "x: AI of 1 run is relative to FINE-TUNE with another filters" in load(tmp_path).warnings
    put(tmp_path / "x", changed(tune, settings=tune.settings | {"filters": 64}))
    assert not [warning for warning in load(tmp_path).warnings if "another" in warning]


def test_a_reference_without_an_average_of_the_weights_is_the_same(tmp_path: Path) -> None:
    tune, er, _ = records("generic", 1)
    put(tmp_path / "x", tune, changed(er, settings=er.settings | {"average": 0.995}))
    assert not [warning for warning in load(tmp_path).warnings if "another" in warning]


def test_a_reference_with_settings_of_its_own_is_flagged(tmp_path: Path) -> None:
    """Also for a method from outside, whose usual settings are not known."""
    tune, er, _ = records("generic", 1)
    slow = changed(tune, settings=tune.settings | {"lr": 0.05})
    put(tmp_path / "x", slow, er, changed(er, method="mine"))
    assert "x: AI of 2 runs is relative to FINE-TUNE with another lr" in load(tmp_path).warnings


def test_a_loss_that_was_not_finite_is_flagged_also_without_a_count_of_refused_steps(
    tmp_path: Path,
) -> None:
    """Records from before steps were refused."""
    tune, er, _ = records("generic", 1)
    assert er.losses is not None
    put(tmp_path / "x", tune, changed(er, losses=replace(er.losses, loss=[None] * 100)))
    assert load(tmp_path).warnings == [
        "x: the loss of 1 run was not finite (first: er, split-digits, seed 0): lower lr"
    ]


def test_options_of_the_data_may_be_said_in_any_order(tmp_path: Path) -> None:
    tune, er, _ = records("generic", 1)
    put(tmp_path / "x", changed(tune, data_options={"tasks": 5, "image_size": 8}))
    put(tmp_path / "x", changed(er, data_options={"image_size": 8, "tasks": 5}))
    assert not [warning for warning in load(tmp_path).warnings if "without AI" in warning]


def test_a_reference_on_other_images_is_none(tmp_path: Path) -> None:
    tune, er, _ = records("generic", 1)
    put(tmp_path / "x", tune, changed(er, data_sha256="0"))
    assert any("1 run without AI" in warning for warning in load(tmp_path).warnings)


def test_runs_of_one_method_on_different_images_are_pointed_out(tmp_path: Path) -> None:
    found = records("generic", 2)
    for record in found:
        put(tmp_path / "x", changed(record, train_sha256=str(record.seed)))
    (warning,) = [one for one in load(tmp_path).warnings if "on other images" in one]
    assert warning.startswith("x: 3 runs on other images than the first of the same method")


def test_items_that_do_not_report_ai_need_no_reference(tmp_path: Path) -> None:
    put(tmp_path / "time", *records("efficiency", 1))
    assert load(tmp_path).warnings == []


def test_a_torn_line_is_left_out_and_said(tmp_path: Path) -> None:
    path = put(tmp_path / "x", *records("generic", 1))
    before = path.read_bytes() + b'{"schema": 1, "met'
    path.write_bytes(before)
    study = load(tmp_path)
    assert len(study.items["x"]) == 3
    assert study.warnings == ["x: results.jsonl ends in a cut-off line, which is left out"]
    assert path.read_bytes() == before  # reporting changes nothing


# --- what is refused ---


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"schema": 3}', r"line 4 has schema 3, this version reads 1 to 2"),
        ("half", r"line 4 is not a result: repair or remove that line"),
        ('{"schema": 1, "method": "er"}', r"line 4 lacks accuracy, also, class_order"),
    ],
)
def test_other_lines_are_refused(tmp_path: Path, line: str, message: str) -> None:
    path = put(tmp_path / "x", *records("generic", 1))
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(UserError, match=message):
        load(tmp_path)


@pytest.mark.parametrize("matrix", [[[0.5, 0.2]], [[2.0]], [], "none", [[None]]])
def test_an_accuracy_that_is_none_is_refused(tmp_path: Path, matrix: Any) -> None:
    put(tmp_path / "x", changed(records("generic", 1)[0], accuracy=matrix))
    with pytest.raises(UserError, match="line 1 is not a result: ") as caught:
        load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [{"metrics": {}}, {"metrics": {"AA": "high"}}, {"settings": []}, {"seed": None}, {"also": 1}],
    ids=str,
)
def test_fields_that_hold_something_else_are_refused(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    values = as_values(records("generic", 1)[0]) | changes
    (tmp_path / "results.jsonl").write_text(json.dumps(values) + "\n")
    with pytest.raises(UserError, match=r"line 1 is not a result: .*: repair or remove that line"):
        load(tmp_path)


def test_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no results\.jsonl in .* or its subfolders"):
        load(tmp_path)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "results.jsonl").write_text("\n")
    with pytest.raises(UserError, match="no finished run"):
        load(tmp_path)
    with pytest.raises(UserError, match="no finished run"):
        load(tmp_path / "x" / "results.jsonl")
    with pytest.raises(UserError, match=r"no file or folder .*none: give a folder of results"):
        load(tmp_path / "none")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x" / "results.jsonl").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot read"):
        load(tmp_path)

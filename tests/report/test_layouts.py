"""The tables of every item: the paper's lines and columns, our numbers, nothing invented."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from bison_ocl.evaluate.confusion import column_precision
from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.experiments.records.record import Record
from bison_ocl.methods.settings import configured, settings_of
from bison_ocl.report.formats.markdown import markdown
from bison_ocl.report.study.entry import prepared
from bison_ocl.report.study.measures import AF, AF_TABLE
from bison_ocl.report.study.paper import Published
from bison_ocl.report.tables.layouts import tables_of
from bison_ocl.report.tables.table import Comparison, Table
from tests.report.records import records

made_up = cache(records)
"""records of an item, drawn once"""


def made(item: str, seeds: int = 2) -> list[Table]:
    return tables_of(item, prepared(made_up(item, seeds)))


def at(table: Table, line: str, group: str, column: str) -> Comparison:
    (number,) = [
        number
        for number, one in enumerate(table.columns)
        if (one.block, one.label) == (group, column)
    ]
    (row,) = [row for row in table.rows if row.label.text == line]
    return row.cells[number]


def texts(table: Table) -> list[str]:
    return [line.label.text for line in table.rows]


def mean(found: list[Record], metric: str, **wanted: Any) -> float:
    chosen = [r for r in found if all(getattr(r, key) == value for key, value in wanted.items())]
    assert chosen
    return 100 * float(np.mean([getattr(record.metrics, metric) for record in chosen]))


@pytest.mark.parametrize("item", [*ITEMS, "anything"])
def test_every_item_has_tables_with_runs_in_them(item: str) -> None:
    found = made(item, seeds=2)
    assert len({table.name for table in found}) == len(found)
    for table in found:
        assert table.rows
        assert table.columns
        assert table.name.startswith(item)
        assert any(cell.ours for line in table.rows for cell in line.cells)
        assert all(len(line.cells) == len(table.columns) for line in table.rows)


# --- the main tables ---


def test_table1_holds_every_method_and_place_in_the_papers_order() -> None:
    accuracy, forgetting, text, intransigence = made("table1")
    assert texts(accuracy) == [
        *("FINE-TUNE", "ER", "GSS", "MIR", "A-GEM", "GDumb", "SCR", "ASER"),
        *("SS-IL", "ER-DVC", "ER-ACE", "OCM", "OCM (old_logits=position)", "PCR", "LODE", "BISON"),
    ]
    assert list(accuracy.blocks()) == ["Split CIFAR-100", "Split CIFAR-10", "Split Mini-ImageNet"]
    assert [column.label for column in accuracy.columns[3:6]] == [
        *("M = 0.2k", "M = 0.5k", "M = 1k")
    ]
    kinds = {line.label.text: line.label.category for line in accuracy.rows}
    assert (kinds["OCM"], kinds["SCR"], kinds["ER"], kinds["BISON"]) == ("T, F", "F", "", "")
    assert [table.name for table in (forgetting, text, intransigence)] == [
        *("table1-forgetting", "table1-forgetting-text", "table1-intransigence")
    ]


def test_ours_is_the_mean_in_percent_beside_the_papers() -> None:
    found = prepared(made_up("table1", 2))
    accuracy, forgetting, text, intransigence = tables_of("table1", found)
    where = {"method": "mir", "data": "split-cifar10", "memory": 500}
    for table, metric, paper in (
        (accuracy, "AA", Published(43.7, 4.4)),
        (forgetting, "AF_table", Published(31.5, 3.4)),
        (text, "AF", None),
        (intransigence, "AI", Published(10.8, 3.4)),
    ):
        cell = at(table, "MIR", "Split CIFAR-10", "M = 0.5k")
        assert cell.ours is not None
        assert cell.ours.mean == pytest.approx(mean(found, metric, **where))
        assert cell.ours.n == 2
        assert cell.paper == paper
    chosen = [r for r in found if all(getattr(r, key) == value for key, value in where.items())]
    by_task = np.mean([np.subtract(r.reference, np.diag(r.accuracy)) for r in chosen], 0)
    over_tasks = at(intransigence, "MIR", "Split CIFAR-10", "M = 0.5k").over_tasks
    assert over_tasks == pytest.approx(100 * np.std(by_task, ddof=1))


def test_forgetting_is_labelled_by_its_convention() -> None:
    _, forgetting, text, _ = made("table1")
    assert "AF_table" in forgetting.title
    assert "AF (text)" in text.title
    assert AF_TABLE.what in markdown(forgetting)
    assert AF.what in markdown(text)
    assert not any(text.compared(number) for number in range(len(text.columns)))


def test_fine_tune_stands_beside_every_memory() -> None:
    accuracy = made("table1")[0]
    row = [cell for cell in accuracy.rows[0].cells[:3]]
    assert row[0].values == row[1].values == row[2].values
    assert row[0].paper == Published(5.2, 0.6)
    assert all(cell.rank == 0 for cell in row)


def test_missing_cells_are_missing_and_their_paper_is_there() -> None:
    found = [
        record
        for record in prepared(made_up("table1", 2))
        if record.data == "split-cifar10" and (record.method, record.memory) != ("er", 500)
    ]
    accuracy = tables_of("table1", found)[0]
    assert list(accuracy.blocks()) == ["Split CIFAR-10"]
    cell = at(accuracy, "ER", "Split CIFAR-10", "M = 0.5k")
    assert cell.ours is None
    assert cell.paper == Published(42.8, 5.4)
    assert at(accuracy, "ER", "Split CIFAR-10", "M = 1k").ours is not None


def test_other_settings_are_another_line_without_the_papers_number() -> None:
    found = made_up("table1", 2)
    bison = [r for r in found if (r.method, r.memory) == ("bison", 200)]
    changed = settings_of(configured("bison", "split-cifar10", {"beta": "0.3"}))
    extra = [replace(record, settings=changed) for record in bison]
    fp32 = [replace(record, precision="fp32") for record in bison]
    accuracy = tables_of("table1", prepared([*found, *extra, *fp32]))[0]
    assert texts(accuracy)[-3:] == ["BISON", "BISON (beta=0.3)", "BISON (precision=fp32)"]
    cell = at(accuracy, "BISON (beta=0.3)", "Split CIFAR-10", "M = 0.2k")
    assert cell.ours is not None
    assert cell.paper is None
    assert at(accuracy, "BISON", "Split CIFAR-10", "M = 0.2k").ours.n == 2  # type: ignore[union-attr]


def test_another_stream_is_not_compared_with_the_paper() -> None:
    found = [replace(r, stream="iid") for r in made_up("table1", 2) if r.data == "split-cifar10"]
    (overview,) = tables_of("mine", prepared(found))
    assert all(", iid, M = " in column.block for column in overview.columns)
    assert not any(overview.compared(number) for number in range(len(overview.columns)))
    (usual,) = tables_of("mine", prepared([replace(r, stream="class-incremental") for r in found]))
    assert usual.compared(0)


def test_a_rule_that_rode_along_is_not_in_the_main_tables() -> None:
    found = prepared(made_up("ncm", 1))
    assert not any("NCM" in text for text in texts(tables_of("table1", found)[0]))


def test_anytime_accuracy_has_a_column_where_it_was_measured() -> None:
    found = made_up("anything", 1)
    measured = [replace(record.metrics, A_AUC=0.5) for record in found]
    blurry = [
        replace(record, stream="blurry", metrics=metrics)
        for record, metrics in zip(found, measured, strict=True)
    ]
    (table,) = tables_of("mine", prepared([*found, *blurry]))
    anytime = [column.block for column in table.columns if column.measure.name == "A_AUC"]
    assert anytime == ["Split Digits, blurry, M = 100"]


def test_fine_tune_is_compared_only_where_nothing_else_was_run() -> None:
    everything = prepared(made_up("table1", 1))
    assert texts(tables_of("ncm", everything)[0])[0] == "ER"
    found = [r for r in everything if r.method == "finetune" or r.data == "split-cifar10"]
    (table,) = tables_of("ncm", found)
    assert at(table, "FINE-TUNE", "Split CIFAR-100", "M = 0").ours is not None
    assert at(table, "FINE-TUNE", "Split CIFAR-10", "M = 0.2k").ours is None


# --- the others ---


def test_the_ablation_by_the_papers_names() -> None:
    (table,) = made("ablation")
    assert set(texts(table)) == {
        *("BISON", "w/o PAF", "w/o PAL", "w/o PAF & PAL", "w/o DC & PAF", "w/o all")
    }
    printed = {
        line.label.text: line.cells[0].paper.mean for line in table.rows if line.cells[0].paper
    }
    assert printed == {
        "BISON": 24.2,
        "w/o PAF": 23.4,
        "w/o PAL": 22.5,
        "w/o PAF & PAL": 22.6,
        "w/o DC & PAF": 18.1,
        "w/o all": 18.9,
    }
    kinds = {line.label.text: line.label.category for line in table.rows}
    assert kinds["w/o DC & PAF"] == "PAL"
    assert kinds["w/o all"] == "none"


def test_the_ncm_table_pairs_each_method_with_its_rule() -> None:
    (table,) = made("ncm")
    assert texts(table)[:4] == ["ER", "ER + NCM", "SCR", "ER-ACE"]
    cell = at(table, "ER + NCM", "Split Mini-ImageNet", "M = 2k")
    assert cell.paper == Published(21.4, 1.4)
    assert cell.ours is not None


def test_directions_hold_the_four_variants() -> None:
    (table,) = made("directions")
    assert texts(table) == ["(bs, sb)", "(bs, bs)", "(sb, sb)", "(sb, bs)"]
    assert [line.label.main for line in table.rows] == [True, False, False, False]


def test_buffer_batches_that_did_not_run_are_missing() -> None:
    found = [r for r in made_up("buffer-batch", 2) if r.settings["buffer_batch"] != 64]
    (table,) = tables_of("buffer-batch", prepared(found))
    sizes = [16, 32, 64, 100]
    assert texts(table)[-5:] == ["BISON", *(f"BISON (buffer_batch={size})" for size in sizes)]
    missing = {line.label.text for line in table.rows if line.cells[0].ours is None}
    assert missing == {"BISON (buffer_batch=64)"}


def test_of_a_grid_the_preset_stands_beside_the_paper() -> None:
    (table,) = made("sensitivity", 2)
    place = "Split CIFAR-10, M = 0.2k"
    assert at(table, "BISON", place, "AA ↑").paper == Published(52.5, 0.7)
    assert at(table, "BISON (beta=0.05, lambda=0.5)", place, "AA ↑").paper is None
    columns = [n for n, column in enumerate(table.columns) if column.block == place]
    for number in columns:
        best = [line for line in table.rows if line.cells[number].rank == 1]
        assert len(best) == 1


def test_time_is_told_in_seconds_and_in_times_of_er() -> None:
    found = prepared(made_up("time", 3))
    (table,) = tables_of("time", found)
    total = {m: np.mean([r.timing.total_s for r in found if r.method == m]) for m in ("er", "mir")}
    seconds, ratio = next(line for line in table.rows if line.label.text == "MIR").cells[:2]
    assert seconds.ours is not None
    assert seconds.ours.mean == pytest.approx(total["mir"])
    assert ratio.ours is not None
    assert ratio.ours.mean == pytest.approx(total["mir"] / total["er"])
    assert "measured on NVIDIA H200" in table.notes
    assert "FINE-TUNE" not in texts(table)
    (alone,) = tables_of("time", [r for r in found if r.method != "er"])
    assert len(alone.columns) == len(table.columns) - 1


def test_multiples_are_of_er_by_its_preset() -> None:
    found = made_up("time", 2)
    slow = [
        replace(
            record,
            settings={**record.settings, "lr": 0.05},
            timing=replace(record.timing, total_s=10 * record.timing.total_s),
        )
        for record in found
        if record.method == "er"
    ]
    (table,) = tables_of("time", prepared([*found, *slow]))
    for line, ratio in (("ER", 1), ("ER (lr=0.05)", 10)):
        cell = at(table, line, "Split CIFAR-10, M = 1k", "whole run / ER's")
        assert cell.ours is not None
        assert cell.ours.mean == pytest.approx(ratio)


def test_efficiency_compares_what_can_be_compared() -> None:
    found = [
        replace(r, parameters=1000 + 10 * (r.method == "bison")) for r in records("efficiency")
    ]
    (table,) = tables_of("efficiency", prepared(found))
    cell = at(table, "BISON", "Split CIFAR-10, M = 1k", "parameters / ER's")
    assert cell.ours is not None
    assert cell.ours.mean == pytest.approx(1.01)
    assert cell.paper is not None
    assert cell.paper.mean == pytest.approx(1096343 / 1094750)
    peak = at(table, "ER", "Split CIFAR-10, M = 1k", "peak memory")
    assert peak.ours is not None
    assert peak.paper is None  # of the whole process
    share = at(table, "BISON", "Split CIFAR-10, M = 1k", "peak memory / ER's")
    assert share.paper is not None
    assert share.paper.mean == pytest.approx(1805 / 1787)


def test_column_precision_of_the_newest_classes() -> None:
    found = prepared(made_up("confusion", 2))
    (table,) = tables_of("confusion", found)
    labels = [column.label for column in table.columns]
    assert labels == ["precision of ship ↑", "precision of frog ↑"]
    cell = at(table, "ER + NCM", "Split CIFAR-10, order:confusion, M = 0.5k", "precision of ship ↑")
    runs = [record for record in found if record.method == "er + ncm"]
    expected = [100 * column_precision(record.counts[-1])[8] for record in runs]
    assert cell.ours is not None
    assert cell.ours.mean == pytest.approx(np.mean(expected))
    assert cell.paper == Published(50.8, None)


def test_a_class_that_no_image_is_given_has_precision_0() -> None:
    found = prepared(made_up("confusion", 2))
    for record in found:
        for row in record.counts[-1] if record.method == "ssil" else ():
            row[8] = 0
    (table,) = tables_of("confusion", found)
    cell = at(table, "SS-IL", "Split CIFAR-10, order:confusion, M = 0.5k", "precision of ship ↑")
    assert cell.ours is not None
    assert (cell.ours.n, cell.ours.mean) == (2, 0)


def test_curves_have_a_column_for_each_task() -> None:
    (table,) = made("curves", 2)
    sizes = {group: len(numbers) for group, numbers in table.blocks().items()}
    assert sizes == {
        "Split CIFAR-100, M = 1k": 10,
        "Split CIFAR-10, M = 0.5k": 5,
        "Split Mini-ImageNet, M = 1k": 10,
    }


def test_the_large_setting_is_its_items_preset() -> None:
    (table,) = made("feature-enhancement", 2)
    assert texts(table) == ["SCR", "OCM", "OnPro", "PCR", "BISON"]
    assert at(table, "OCM", "Split CIFAR-100, natural", "M = 1k").paper == Published(28.1, 0.3)
    small = [r for r in made_up("table1", 2) if r.data == "split-cifar100"]
    other = tables_of(
        "feature-enhancement", prepared([replace(r, stream="natural") for r in small])
    )[0]
    assert "BISON (buffer_batch=10, filters=20)" in texts(other)


def test_an_item_moved_to_digits_still_has_its_tables() -> None:
    found = [
        replace(record, data="split-digits")
        for record in records("confusion", 1)
        if record.method != "finetune"
    ]
    (table,) = tables_of("similar-pairs", prepared(found))
    assert [column.measure.name for column in table.columns] == ["AA", "AF_table", "AF", "AI"]
    (table,) = tables_of("confusion", prepared(found))
    labels = [column.label for column in table.columns]
    assert labels == ["precision of class 8 ↑", "precision of class 6 ↑"]


@pytest.mark.parametrize("item", ITEMS)
def test_any_runs_in_any_item_have_tables(item: str) -> None:
    for found in (made_up("anything", 1), made_up("anything", 1)[:1], made_up("time", 1)):
        made = tables_of(item, prepared(found))
        assert made
        assert all(table.rows for table in made)


def test_settings_that_this_version_does_not_know_are_another_line() -> None:
    found = [replace(r, settings={**r.settings, "new": 2}) for r in records("generic", 1)]
    (table,) = tables_of("anything", prepared([*records("generic", 1), *found]))
    assert {"BISON", "BISON (new=2)"} < set(texts(table))


def test_a_method_that_this_version_does_not_know() -> None:
    (one,) = records("generic", 1)[1:2]
    found = [replace(one, method="mine", settings={"x": x}) for x in (1, 2)]
    (table,) = tables_of("anything", prepared(found))
    assert texts(table) == ["MINE (x=1)", "MINE (x=2)"]

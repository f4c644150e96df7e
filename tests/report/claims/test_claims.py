"""The summary at the top of RESULTS.md."""

from __future__ import annotations

from bison_ocl.report.claims.claims import claims
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.layouts import tables_of
from tests.report.studies import study


def summary(found: Study) -> list[str]:
    return claims(found, {item: tables_of(item, records) for item, records in found.items.items()})


def test_a_study_without_the_main_table_has_no_summary() -> None:
    assert summary(study("demo")) == []


def test_answers_come_first_and_each_has_its_details_below() -> None:
    head, answers, _, *details = summary(study("table1", seeds=2))
    assert head == "## In short"
    assert len(answers.splitlines()) == 5
    asked = [line.split("**")[1] for line in answers.splitlines()]
    assert [text.removeprefix("### ") for text in details if text.startswith("###")] == asked[:4]
    assert "129 of 129 cells" in answers


def test_what_was_not_run_is_said() -> None:
    found = study("table1", seeds=2)
    assert "The ablation was not run." in "\n".join(summary(found))
    both = "\n".join(summary(Study(found.items | study("ablation").items, [])))
    assert "of 5 variants without a part have a lower AA than BISON" in both
    assert "| w/o PAL | " in both


def test_the_other_reading_is_named_where_its_balance_is_better() -> None:
    _, answers, *_ = summary(study("table1", seeds=2))
    (balance,) = [line for line in answers.splitlines() if "balance" in line]
    assert "By its other reading (READINGS.md) OCM is ahead of BISON in" in balance

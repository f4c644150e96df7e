"""The summary at the top of RESULTS.md."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bison_ocl.report.claims.claims import asked, claims, lost
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


def test_balance_adds_the_forgetting_of_the_papers_tables_to_intransigence() -> None:
    one = study("demo").items["demo"][-1]
    found = replace(one, metrics=replace(one.metrics, AF=0.9, AF_table=0.25, AI=-0.125))
    assert lost(found) == pytest.approx(12.5)
    assert lost(replace(found, metrics=replace(found.metrics, AI=None))) is None


def test_networks_scored_by_another_rule_are_no_rivals() -> None:
    found = study("table1", seeds=2)
    tables = {"table1": tables_of("table1", found.items["table1"])}
    for claim in asked(found, tables)[1:3]:
        rows = [line for line in claim.details[0].splitlines() if line.startswith("| C1")]
        assert len(rows) == 6
        assert all(" of 14 | " in row for row in rows)

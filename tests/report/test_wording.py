"""What formats print of a table: numbers as text, and a legend that explains what is there."""

from __future__ import annotations

from dataclasses import replace

from bison_ocl.report.formats import wording
from bison_ocl.report.study.labels import Label
from bison_ocl.report.study.measures import AA, AI, PARAMETERS, TOTAL, with_unit
from bison_ocl.report.study.paper import Published
from bison_ocl.report.tables.marks import marked
from bison_ocl.report.tables.table import Comparison, Row, Table
from tests.report.by_hand import PLACE, cell, column, table


def legend(found: Table) -> str:
    return "\n".join(wording.legend(found, "bold: best", ("green", "amber", "red")))


def test_what_is_printed() -> None:
    found, made = cell(52.0, 53.0, paper=Published(52.5, 0.7)), table({})
    assert wording.ours(found, column()) == "52.5 ± 0.7"
    assert wording.paper(found, column()) == "52.5 ± 0.7"
    assert wording.difference(found, column()) == "+0.0"
    assert wording.count(found, made) == "(2 of 10)"
    assert wording.count(cell(*range(10)), made) == "(10)"
    assert wording.count(cell(*range(12)), made) == "(12)"
    assert wording.ours(cell(1.0), column()) == "1.0"
    assert wording.ours(Comparison({0: 1.0}, over_tasks=9.7), column()) == "1.0 / 9.7"
    assert with_unit(TOTAL) == "whole run (s)"


def test_there_is_no_minus_zero() -> None:
    found = cell(-0.01, paper=Published(0.0, None))
    assert (wording.ours(found, column()), wording.difference(found, column())) == ("0.0", "+0.0")


def test_a_missing_cell_is_shown_as_missing() -> None:
    found = table({"a": [cell(paper=Published(1.0, None))]})
    missing = found.rows[0].cells[0]
    assert (wording.ours(missing, column()), wording.count(missing, found)) == ("–", "")
    assert missing.difference is None
    assert legend(found).endswith("–: not run")


def test_a_run_without_a_measure_is_not_called_not_run() -> None:
    aa, ai = column(), replace(column(), label="AI", measure=AI)
    both = table({"a": [cell(1.0), cell()], "b": [cell(1.0), cell(2.0)]})
    both = replace(both, columns=(aa, ai))
    assert "–: not measured" in legend(both)
    mixed = table({"a": [cell(1.0), cell()], "b": [cell(), cell()]})
    assert "–: not run or not measured" in legend(replace(mixed, columns=(aa, ai)))


def test_a_memory_size_that_was_not_run_is_not_called_not_measured() -> None:
    larger = replace(column(), place=(*PLACE[:3], 200))
    found = table({"a": [cell(1.0), cell()]}, [column(), larger])
    assert legend(found).endswith("–: not run")


def test_a_reference_is_printed_once_for_each_measure() -> None:
    lines = {"tune": [cell(1.0), cell(2.0), cell(1.0)]}
    (block,) = wording.blocks(table(lines, [column(), column(AI), column()], reference="tune"))
    ((_, shown),) = block.rows
    assert [one.text for one in shown] == ["tune", "1.0", "2.0", ""]


def test_the_legend_explains_what_is_there_and_no_more() -> None:
    plain = table({"a": [cell(1.0)]})
    number = "mean ± standard deviation over runs (their number), percent"
    assert legend(plain).startswith(f"{number}")
    assert legend(plain).endswith(f"{AA.label}: {AA.what}")
    lines = {"main": [cell(*range(7), paper=Published(3.0, 0.1))], "a": [cell(*range(1, 8))]}
    full = marked(table(lines, main="main"))
    first, *rest = full.rows
    full = replace(full, rows=(Row(Label("main", "T", main=True), first.cells), *rest))
    said = legend(full)
    assert (
        "paper: as printed; Δ: ours minus the paper's; green up to 1 point, amber up to 3" in said
    )
    assert "T: training distinction; F: feature enhancement" in said
    assert "bold: best" in said
    assert "*: differs from “main”, p < 0.05 (paired sign-flip test over common seeds" in said
    assert "6 seeds are needed to show a difference" in said
    assert "AI" not in said
    ai = Table("t", "T", (column(),), (Row(Label("a"), (Comparison({0: 1.0}, over_tasks=2.0),)),))
    assert "after ±, the deviation over runs; after /, over tasks, as in the paper" in legend(ai)


def test_without_a_main_line_the_best_is_what_others_differ_from() -> None:
    lines = {"a": [cell(*range(8))], "b": [cell(*range(9, 17))]}
    assert "differs from the best" in legend(marked(table(lines)))


def test_stars_are_explained_only_where_there_are_any() -> None:
    found = marked(table({"a": [cell(1, 2)], "b": [cell(3, 4)]}))
    assert any(one.p is not None for one in found.cells)
    assert "differs" not in legend(found)


def test_tests_that_were_not_made_are_not_explained() -> None:
    found = marked(table({"a": [cell(1.0)], "b": [cell(3.0)]}), tested=False)
    assert "differs" not in legend(found)


def test_counts_are_judged_in_percent() -> None:
    found = table({"a": [cell(1e6, paper=Published(1e6, None))]}, [column(PARAMETERS)])
    assert "green up to 1 percent" in legend(found)

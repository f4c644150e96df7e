"""How near to the paper a table is."""

from __future__ import annotations

import math

import pytest

from bison_ocl.experiments.plan.paper import MINI
from bison_ocl.report.claims.nearness import counts, distances, nearness, outliers
from bison_ocl.report.study.labels import method_label
from bison_ocl.report.study.measures import AI
from bison_ocl.report.study.paper import Published
from bison_ocl.report.tables.table import Comparison
from tests.report.claims.made_up_table import BY_POSITION, cell, table


def test_the_error_is_that_of_a_difference_of_two_means() -> None:
    (found,) = distances(table({method_label("er"): [cell(52, 54, std=3.0)]}))
    assert found.difference == pytest.approx(3.0)
    assert found.error == pytest.approx(math.sqrt(2 / 2 + 9 / 10))


def test_the_papers_deviation_of_ai_is_over_tasks_and_does_not_count() -> None:
    (found,) = distances(table({method_label("er"): [cell(52, 54, std=30.0)]}, AI))
    assert found.error == pytest.approx(math.sqrt(2 / 2 + 2 / 10))


def test_a_cell_is_far_only_beyond_three_points_and_two_errors() -> None:
    cells = [cell(54.0, 54.1, 54.2, std=0.1), cell(40, 54, 68, std=0.1)]
    sure, wide = distances(table({method_label("er"): cells}))
    assert sure.far
    assert abs(wide.difference) > 3
    assert not wide.far
    assert str(sure) == "C10 0.2k +4.1 (62.3)"


def test_two_standard_errors_explain_a_distance_and_more_do_not() -> None:
    cells = [cell(51.4, 56.6, std=0.1), cell(52.4, 55.6, std=0.1)]
    near, far = distances(table({method_label("er"): cells}))
    assert (str(near), near.far) == ("C10 0.2k +4.0 (1.5)", False)
    assert (str(far), far.far) == ("C10 0.5k +4.0 (2.5)", True)


def test_of_one_run_the_papers_deviation_stands_for_both() -> None:
    (found,) = distances(table({method_label("er"): [cell(56, std=3.0)]}))
    assert found.error == pytest.approx(math.sqrt(9 + 9 / 10))
    assert not found.far


@pytest.mark.parametrize("one", [cell(56, std=None), cell(56, 56, std=0.0)])
def test_a_distance_without_any_deviation_is_judged_by_its_points(one: Comparison) -> None:
    (found,) = distances(made := table({method_label("er"): [one]}))
    assert (str(found), found.far, found.explained) == ("C10 0.2k +6.0 (unknown)", True, False)
    near = distances(table({method_label("er"): [cell(52, std=None)]}))
    assert not next(near).far
    assert nearness(dict.fromkeys(("AA", "AF_table", "AI"), made)) is not None


def test_finetune_counts_once_and_ocm_by_position() -> None:
    lines = {
        method_label("finetune"): [cell(50), cell(50)],
        method_label("ocm"): [cell(60), cell(60)],
        BY_POSITION: [cell(51), Comparison(paper=Published(50, 1))],
    }
    made = table(lines)
    found = list(distances(made))
    assert [one.row.label.text for one in found] == ["FINE-TUNE", BY_POSITION.text]
    claim = nearness(dict.fromkeys(("AA", "AF_table", "AI"), made))
    assert claim is not None
    assert claim.answer.startswith("2 of 3 cells of the main table were run.")


def test_the_answer_counts_cells_that_are_not_far() -> None:
    cells = [cell(54.0, 54.1, 54.2, std=0.1), cell(50, 51, 52)]
    claim = nearness({"AA": table({method_label("er"): cells})})
    assert claim is not None
    assert "In AA, 1 of them (50 %) lie within three points" in claim.answer


def test_without_a_run_there_is_no_claim() -> None:
    missing = [Comparison(paper=Published(50, 1))]
    assert nearness({"AA": table({method_label("er"): missing})}) is None


def test_cells_are_counted_by_dataset_and_distance() -> None:
    near = list(distances(table({method_label("er"): [cell(50.5, 50.7), cell(52.4, 52.6)]})))
    mini = list(distances(table({method_label("er"): [cell(54.0, 54.1)]}, data=MINI)))
    text = counts({"AA": [*near, *mini]})
    assert "| AA | CIFAR | 2 | 1 | 1 | 2 | 1 | 2 of 2 |" in text
    assert "| AA | Mini-ImageNet | 1 | 0 | 0 | 0 | 0 | 0 of 1 |" in text


def test_far_cells_stand_in_the_row_of_their_method() -> None:
    near = list(distances(table({method_label("er"): [cell(50.5, 50.7), cell(52.4, 52.6)]})))
    far = [cell(54.0, 54.1), cell(44.0, 44.1)]
    mini = list(distances(table({method_label("er"): far}, data=MINI)))
    (text,) = outliers({"AA": near, "AI": mini})
    assert text.splitlines()[-1] == "| ER |  | Mini 0.2k +4.0 (12.7), Mini 0.5k -6.0 (18.6) |"
    assert outliers({"AA": near}) == []

"""Where BISON stands among the methods of a cell."""

from __future__ import annotations

from bison_ocl.report.claims.claim import Claim
from bison_ocl.report.claims.standing import other_readings, standing
from bison_ocl.report.study.labels import Label, method_label
from bison_ocl.report.study.measures import AI
from bison_ocl.report.tables.marks import marked
from bison_ocl.report.tables.table import Comparison
from tests.report.claims.made_up_table import BY_POSITION, cell, table

BISON, ER, GSS = (method_label(name) for name in ("bison", "er", "gss"))
Lines = dict[Label, list[Comparison]]


def claim(lines: Lines) -> Claim:
    return standing("", marked(table(lines)))


def rows(lines: Lines) -> list[list[str]]:
    """Place, nearest rival, no significant difference, too few seeds, lead."""
    (text,) = claim(lines).details
    return [line.strip("| ").split(" | ")[1:] for line in text.splitlines() if "| C10" in line]


def test_the_best_is_named_where_it_is_another() -> None:
    lines = {
        BISON: [cell(*range(50, 60)), cell(*range(50, 60))],
        ER: [cell(*range(40, 50)), cell(*range(60, 70))],
    }
    assert claim(lines).answer == "It is first in 1 of 2 cells, in 1 of them significantly."
    assert rows(lines) == [
        ["1 of 2", "ER", "–", "–", "+10.0 (10)"],
        ["2 of 2", "ER", "–", "–", "-10.0 (10)"],
    ]


def test_methods_are_compared_on_the_seeds_that_both_have() -> None:
    """BISON's mean is higher because of seeds that ER does not have."""
    lines = {BISON: [cell(50, 51, 90, 90)], ER: [cell(52, 52)]}
    assert claim(lines).answer == "It is first in 0 of 1 cells, in 0 of them significantly."
    assert rows(lines) == [["2 of 2", "ER", "–", "all", "-1.5 (2)"]]


def test_of_a_measure_of_loss_the_lowest_is_first() -> None:
    lines = {BISON: [cell(*range(40, 50))], ER: [cell(*range(50, 60))]}
    found = standing("", marked(table(lines, AI)))
    assert found.answer == "It is first in 1 of 1 cells, in 1 of them significantly."
    assert found.details[0].endswith("| C10 0.2k | 1 of 2 | ER | – | – | +10.0 (10) |")


def test_a_lead_by_luck_is_no_lead() -> None:
    lines = {BISON: [cell(*range(50, 58))], ER: [cell(*range(57, 49, -1), 49)]}
    assert claim(lines).answer == "It is first in 1 of 1 cells, in 0 of them significantly."
    assert rows(lines) == [["1 of 2", "ER", "ER", "–", "+0.0 (8)"]]


def test_a_lead_over_methods_of_few_seeds_alone_is_not_significant() -> None:
    lines = {BISON: [cell(50, 60, 70)], ER: [cell(49, 49, 59)]}
    assert claim(lines).answer == "It is first in 1 of 1 cells, in 0 of them significantly."
    assert rows(lines) == [["1 of 2", "ER", "–", "all", "+7.7 (3)"]]


def test_methods_of_few_seeds_do_not_hide_a_lead() -> None:
    """Five seeds cannot be significant: they are named, and correct no other test."""
    lines = {
        BISON: [cell(*range(50, 56))],
        ER: [cell(*range(40, 46))],
        GSS: [cell(10, 11, 12)],
    }
    assert claim(lines).answer == "It is first in 1 of 1 cells, in 1 of them significantly."
    assert rows(lines) == [["1 of 3", "ER", "–", "GSS", "+10.0 (6)"]]


def test_a_cell_without_bison_or_without_a_rival_does_not_count() -> None:
    lines = {BISON: [cell(50), Comparison()], ER: [Comparison(), cell(40)]}
    assert claim(lines).answer == "It is first in 0 of 0 cells, in 0 of them significantly."


def test_the_reading_that_is_not_compared_with_the_paper_is_no_rival_but_named() -> None:
    lines = {
        BISON: [cell(50, 52, 99), cell(60, 62)],
        method_label("ocm"): [cell(55, 57), cell(58, 59)],
        BY_POSITION: [cell(41, 42), cell(46, 47)],
    }
    answer = claim(lines).answer
    assert "It is first in 2 of 2 cells" in answer
    # BISON's third seed has no partner
    assert "OCM is ahead of BISON in 1 of 2 cells: C10 0.2k by 5.0 (n = 2)." in answer
    assert [row[:2] for row in rows(lines)] == [["1 of 2", r"OCM (old\_logits=position)"]] * 2


def test_the_other_reading_is_not_named_where_it_was_not_run() -> None:
    assert other_readings(table({BISON: [cell(50)], BY_POSITION: [cell(41)]})) == []

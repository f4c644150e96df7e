"""Whether each part of BISON helps, on the seeds that a variant shares with BISON."""

from __future__ import annotations

from bison_ocl.report.claims.claim import Claim
from bison_ocl.report.claims.parts import parts
from bison_ocl.report.study.labels import Label
from bison_ocl.report.tables.marks import marked
from bison_ocl.report.tables.table import Comparison
from tests.report.claims.made_up_table import cell, table

BISON, NO_PAF = Label("BISON", main=True), Label("w/o PAF")


def claim(whole: Comparison, without: Comparison) -> Claim:
    return parts([marked(table({BISON: [whole], NO_PAF: [without]}))])


def test_a_loss_over_enough_seeds_is_significant() -> None:
    found = claim(cell(*range(50, 60)), cell(*range(40, 50)))
    assert found.answer == (
        "C10 0.2k: 1 of 1 variants without a part have a lower AA than BISON, "
        "1 of them significantly (p < 0.05, paired)."
    )
    assert "| C10 0.2k | w/o PAF | 44.5 | +10.0 (10) | 0.002 |" in found.details[0]


def test_a_significant_gain_is_no_loss() -> None:
    found = claim(cell(*range(40, 50)), cell(*range(50, 60)))
    assert found.answer.startswith("C10 0.2k: 0 of 1 variants")
    assert "0 of them significantly" in found.answer
    assert "| C10 0.2k | w/o PAF | 54.5 | -10.0 (10) | 0.002 |" in found.details[0]


def test_too_few_seeds_for_any_result_are_said() -> None:
    found = claim(cell(50, 51, 52, 53, 54), cell(40, 41, 42, 43, 44))
    assert found.answer.endswith(
        "0 of them significantly (p < 0.05, paired). 1 of the variants has fewer than 6 seeds in "
        "common with BISON: too few for a significant difference."
    )


def test_variants_are_compared_on_the_seeds_that_both_have() -> None:
    """BISON's mean is lower because of seeds that the variant does not have."""
    found = claim(cell(50, 51, 10, 10), cell(49, 49))
    assert found.answer.startswith("C10 0.2k: 1 of 1 variants")
    assert "| C10 0.2k | w/o PAF | 49.0 | +1.5 (2) | 0.500 |" in found.details[0]


def test_each_cell_has_its_answer() -> None:
    """A column without runs has none; one that the paper does not have says so."""
    mine = Comparison({0: 50.0, 1: 51.0})
    lines = {BISON: [cell(50, 51), mine], NO_PAF: [cell(40, 43), mine]}
    found = parts([marked(table(lines))])
    first, second = found.answer.split(" C10 0.5k ")
    assert first.startswith("C10 0.2k: 1 of 1 variants")
    assert second.startswith("(not in the paper): 0 of 1 variants")
    assert "| C10 0.5k | w/o PAF | 50.5 | +0.0 (2) |" in found.details[0]
    lines[BISON][1] = Comparison()
    assert "C10 0.5k" not in str(parts([marked(table(lines))]))


def test_variants_alone_are_no_ablation() -> None:
    only = marked(table({BISON: [Comparison()], NO_PAF: [cell(40, 41)]}))
    assert parts([only]).answer == "The ablation was not run with all parts."
    assert parts([]).answer == "The ablation was not run."

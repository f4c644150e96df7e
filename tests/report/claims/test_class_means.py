"""Nearest class mean on the networks of other methods, beside BISON."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bison_ocl.report.claims.class_means import Cell, by_class_means, row
from bison_ocl.report.study.experiments import experiments
from tests.report.studies import study


def test_class_means_are_compared_run_by_run() -> None:
    claim = by_class_means(experiments("table1", study("table1", seeds=2).items["table1"]))
    (text,) = claim.details
    assert "| ER | 9 |" in text
    assert "| SCR |" not in text
    assert "| BISON |" not in text
    lines = text.splitlines()
    for ocm in ("OCM", r"OCM (old\_logits=position)"):  # both readings
        assert sum(line.startswith(f"| {ocm} | 9 |") for line in lines) == 1
    cells = sum(
        int(line.split(" | ")[1]) for line in lines if line.startswith("| ") and "9" in line
    )
    assert f"of {cells} cells" in claim.answer


def test_class_means_meet_bison_on_the_seeds_that_both_have() -> None:
    """BISON's mean is higher because of seeds that the other does not have."""
    main = {seed: 50.0 + 9 * (seed > 5) for seed in range(10)}
    few = Cell(dict.fromkeys(range(5), 49.0), dict.fromkeys(range(5), 51.0), main)
    assert (few.gain, few.lead, few.tested) == (pytest.approx(2), pytest.approx(-1), False)
    enough = Cell(dict.fromkeys(range(6), 49.0), dict.fromkeys(range(6), 48.0), main)
    assert (enough.gain, enough.lead) == (pytest.approx(-1), pytest.approx(2))
    assert enough.tested
    assert enough.differs


def test_a_row_holds_the_mean_gain_the_mean_lead_and_the_cells_that_reach_bison() -> None:
    def cell(means: float, seeds: int) -> Cell:
        own, read, main = (dict.fromkeys(range(seeds), aa) for aa in (49.0, means, 50.0))
        return Cell(own, read, main)

    cells = [cell(48, 6), cell(52, 6), cell(44, 3)]
    assert row("ER", cells) == ["ER", "3", "-1.0", "+2.0", "1", "2 of 2"]


@pytest.mark.parametrize(
    ("bison", "said"), [(0.4, "in 1 of 1 cells: ER in 1 of 1."), (0.6, "in 0 of 1 cells.")]
)
def test_cells_that_reach_bison_are_counted(bison: float, said: str) -> None:
    levels = {"er": 0.3, "er + ncm": 0.5, "bison": bison}
    found = [
        replace(one, metrics=replace(one.metrics, AA=levels[one.method]))
        for one in study("table1", seeds=2).items["table1"]
        if one.method in levels and one.memory == 200
    ]
    claim = by_class_means(experiments("table1", found))
    assert claim.answer == f"Nearest class mean reaches BISON {said}"


def test_without_class_means_nothing_is_claimed() -> None:
    assert by_class_means([]).answer == "Nearest class mean was not run on other networks."

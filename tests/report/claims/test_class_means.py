"""Nearest class mean on the networks of other methods, beside BISON."""

from __future__ import annotations

import pytest

from bison_ocl.report.claims.class_means import Cell, by_class_means
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


def test_without_class_means_nothing_is_claimed() -> None:
    assert by_class_means([]).answer == "Nearest class mean was not run on other networks."

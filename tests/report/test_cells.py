"""A cell: its mean, its distance from the paper."""

from __future__ import annotations

import pytest

from bison_ocl.report.study.measures import PARAMETERS, TOTAL
from bison_ocl.report.study.paper import Published
from tests.report.by_hand import cell


@pytest.mark.parametrize(
    ("ours", "size"), [(51.6, "close"), (53.5, "close"), (50.0, "near"), (49.0, "far")]
)
def test_how_far_from_the_paper(ours: float, size: str) -> None:
    found = cell(ours, paper=Published(52.5, 0.7))
    assert found.difference == pytest.approx(ours - 52.5)
    assert found.distance("%") == size


def test_other_units_are_judged_by_their_share_or_not_at_all() -> None:
    found = cell(1_096_343.0, paper=Published(1_094_750, None))
    assert found.distance(PARAMETERS.unit) == "close"
    assert cell(10.0, paper=Published(30.0, None)).distance(TOTAL.unit) is None
    assert cell(1.0).distance("%") is None
    assert cell(paper=Published(1.0, None)).distance("%") is None


def test_mean_and_sample_deviation() -> None:
    ours = cell(1.0, 2.0, 6.0).ours
    assert ours is not None
    assert (ours.mean, ours.n) == (3.0, 3)
    assert ours.std == pytest.approx(7**0.5)
    assert cell().ours is None

"""SC@1 and P_sim after each task, and the precision of the newest classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bison_ocl.report.figures.bars import newest_precision
from bison_ocl.report.figures.chart import NotShown
from bison_ocl.report.figures.similar import similar_curves
from tests.report.figures.charted import chart, charts, listed, of, records, series

PARTNER = {3: 5, 5: 3, 4: 7, 7: 4, 1: 9, 9: 1, 0: 8, 8: 0, 2: 6, 6: 2}
TASKS = [[3, 4], [5, 1], [7, 0], [9, 2], [8, 6]]


def sc(counts: list[list[int]], label: int) -> float:
    """By hand: the share of a class's images taken for its partner, in percent."""
    return 100 * counts[label][PARTNER[label]] / sum(counts[label])


def p_sim(counts: list[list[int]], label: int) -> float:
    right, taken = counts[label][label], counts[label][PARTNER[label]]
    return 100 * right / (right + taken)


def complete(task: int) -> list[int]:
    """Classes that were seen, with their partner, after a task."""
    seen = [label for labels in TASKS[: task + 1] for label in labels]
    return [label for label in seen if PARTNER[label] in seen]


@pytest.mark.parametrize(("name", "measure"), [("SC@1", sc), ("P_sim", p_sim)])
def test_curves_are_means_over_complete_pairs(
    name: str, measure: Callable[[list[list[int]], int], float]
) -> None:
    drawn = series(chart(similar_curves, "similar-pairs", title=name), "ER + NCM").y
    wanted = [
        np.mean(
            [
                np.mean([measure(r.counts[task], label) for label in complete(task)])
                for r in records("similar-pairs", method="er + ncm")
            ]
        )
        for task in range(1, 5)
    ]
    assert np.isnan(drawn[0])  # no pair is complete after the first task
    np.testing.assert_allclose(drawn[1:], wanted)


def test_all_three_methods_are_there() -> None:
    names = ["ER + NCM", "SS-IL + NCM", "BISON"]
    assert listed(charts(similar_curves, "similar-pairs")) == names


def test_other_streams_have_no_pairs() -> None:
    with pytest.raises(NotShown, match="pairs of similar classes"):
        charts(similar_curves, "demo")


def test_precision_of_the_newest_classes_beside_the_papers() -> None:
    made = {one.x.label.split()[2]: one for one in charts(newest_precision, "confusion")}
    assert list(made) == ["ship", "frog"]
    lasts = [np.array(r.counts[-1]) for r in records("confusion", method="bison")]
    for name, new in (("ship", 8), ("frog", 6)):
        wanted = np.mean([100 * c[new, new] / c[:, new].sum() for c in lasts])
        assert series(made[name], "BISON").x[0] == pytest.approx(wanted)
    paper = [s.x[0] for one in made.values() for s in one.series if s.name == "paper"]
    assert sorted(paper) == [34.9, 36.5, 44.8, 50.8, 53.9, 61.7]


def test_seeds_may_meet_the_newest_classes_in_any_order() -> None:
    def turned(order: list[int]) -> list[int]:
        *first, one, other = order
        return [*first, other, one]

    found = [
        replace(r, class_order=turned(r.class_order)) if place % 2 else r
        for place, r in enumerate(of("confusion"))
    ]
    made = charts(newest_precision, "confusion", found)
    assert {one.x.label.split()[2] for one in made} == {"ship", "frog"}


def test_seeds_that_end_differently_have_no_newest_classes_in_common() -> None:
    with pytest.raises(NotShown, match="same classes"):
        charts(newest_precision, "demo")

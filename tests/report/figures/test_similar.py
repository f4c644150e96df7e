"""SC@1 and P_sim: after each task as curves, at the end as bars, and precision of new classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from bison_ocl.report.figures.newest_precision import newest_precision
from bison_ocl.report.figures.similar_bars import similar_bars
from bison_ocl.report.figures.similar_curves import similar_curves
from bison_ocl.report.study.groups import NotShown
from tests.report.figures.drawn import legend_texts, line, of, panel, records

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
def test_curves_are_means_over_complete_pairs(name: str, measure: object) -> None:
    assert callable(measure)
    drawn = line(
        panel(similar_curves("similar-pairs", of("similar-pairs")), name), "ER + NCM"
    ).get_ydata()
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


def bars(axes: Axes, label: str) -> BarContainer:
    (found,) = [one for one in axes.containers if one.get_label() == label]
    assert isinstance(found, BarContainer)
    return found


@pytest.mark.parametrize(("name", "measure"), [("SC@1", sc), ("P_sim", p_sim)])
def test_bars_are_means_over_the_classes_of_a_task(name: str, measure: object) -> None:
    assert callable(measure)
    axes = panel(similar_bars("similar-pairs", of("similar-pairs")), name)
    found = records("similar-pairs", method="bison")
    wanted = [
        np.mean([measure(r.counts[-1], label) for r in found for label in labels])
        for labels in TASKS
    ]
    heights = [bar.get_height() for bar in bars(axes, "BISON").patches]
    np.testing.assert_allclose(heights, wanted)
    assert axes.get_xticklabels()[0].get_text() == "cat\ndeer"


def test_all_three_methods_are_there() -> None:
    assert legend_texts(similar_curves("similar-pairs", of("similar-pairs"))) == [
        "ER + NCM",
        "SS-IL + NCM",
        "BISON",
    ]


def test_other_streams_have_no_pairs() -> None:
    with pytest.raises(NotShown, match="pairs of similar classes"):
        similar_curves("demo", of("demo"))


def test_precision_of_the_newest_classes_beside_the_papers() -> None:
    figure = newest_precision("confusion", of("confusion"))
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["ship", "frog"]
    found = records("confusion", method="bison")
    lasts = [np.array(r.counts[-1]) for r in found]
    wanted = [np.mean([100 * c[new, new] / c[:, new].sum() for c in lasts]) for new in (8, 6)]
    np.testing.assert_allclose([bar.get_height() for bar in bars(axes, "BISON").patches], wanted)
    paper = sorted(one.get_ydata()[0] for one in axes.get_lines() if one.get_label() == "_paper")
    assert paper == [34.9, 36.5, 44.8, 50.8, 53.9, 61.7]
    assert "paper" in legend_texts(figure)


def test_seeds_may_meet_the_newest_classes_in_any_order() -> None:
    found = list(of("confusion"))
    for place, record in list(enumerate(found))[::2]:
        *first, one, other = record.class_order
        found[place] = replace(record, class_order=[*first, other, one])
    (axes,) = newest_precision("confusion", found).axes
    assert {text.get_text() for text in axes.get_xticklabels()} == {"ship", "frog"}


def test_seeds_that_end_differently_have_no_newest_classes_in_common() -> None:
    with pytest.raises(NotShown, match="same classes"):
        newest_precision("demo", of("demo"))

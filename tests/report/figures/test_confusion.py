"""Confusion matrices: the records' counts, in the right order, the right cells outlined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from bison_ocl.report.figures.confusion import confusion
from bison_ocl.report.study.groups import NotShown
from tests.report.figures.drawn import of, panel, records

PAIRED = [3, 5, 4, 7, 1, 9, 0, 8, 2, 6]
NAMES = ["cat", "dog", "deer", "horse", "automobile", "truck", "airplane", "ship", "bird", "frog"]


def outlined(axes: Axes, label: str = "largest error") -> list[tuple[int, int]]:
    """Row and column of the outlined cells."""
    frames = [one for one in axes.patches if one.get_label() == label]
    assert all(isinstance(one, Rectangle) for one in frames)
    return [(round(one.get_y() + 0.46), round(one.get_x() + 0.46)) for one in frames]


def test_counts_are_the_mean_over_seeds_with_similar_classes_side_by_side() -> None:
    axes = panel(confusion("confusion", of("confusion")), "BISON")
    last = np.mean([r.counts[-1] for r in records("confusion", method="bison")], axis=0)
    wanted = [[last[row][column] for column in PAIRED] for row in PAIRED]
    np.testing.assert_allclose(axes.images[0].get_array(), wanted)
    assert [text.get_text() for text in axes.get_xticklabels()] == NAMES
    assert [text.get_text() for text in axes.get_yticklabels()] == NAMES
    assert axes.texts[1].get_text() == f"{wanted[0][1]:.0f}"


def test_the_largest_error_of_each_row_is_outlined() -> None:
    axes = panel(confusion("confusion", of("confusion")), "BISON")
    counts = np.array(axes.images[0].get_array())
    np.fill_diagonal(counts, -1)
    assert outlined(axes) == [(row, int(counts[row].argmax())) for row in range(10)]
    assert outlined(axes, "similar pair") == [(row, row) for row in (0, 2, 4, 6, 8)]


def with_counts(counts: Any) -> list[dict[str, Any]]:
    (first, *_) = records("demo", method="er")
    return [replace(first, confusion=[counts], class_order=list(range(len(counts))))]


def test_a_row_without_errors_has_no_outline() -> None:
    axes = panel(confusion("demo", with_counts([[5, 0, 0], [1, 2, 2], [4, 1, 0]])), "ER")
    assert outlined(axes) == [(1, 2), (2, 0)]


def test_a_larger_diagonal_is_no_error() -> None:
    assert outlined(panel(confusion("demo", with_counts([[9, 1], [0, 3]])), "ER")) == [(0, 1)]


def test_an_error_that_is_printed_as_none_is_not_outlined() -> None:
    (one,) = with_counts([[9, 1, 0], [0, 9, 1], [0, 0, 9]])
    rest = replace(one, confusion=[np.diag([9, 9, 9]).tolist()])
    axes = panel(confusion("demo", [one, replace(rest, seed=1), replace(rest, seed=2)]), "ER")
    assert outlined(axes) == []


def test_of_networks_scored_twice_the_common_rule_is_shown() -> None:
    made = confusion("confusion", of("confusion"))
    titles = [axes.get_title().partition(",")[0] for axes in made.axes]
    assert titles == ["ER + NCM", "SS-IL + NCM", "BISON"]


def test_the_rule_has_its_own_counts() -> None:
    axes = panel(confusion("confusion", of("confusion")), "ER + NCM")
    last = np.mean([r.counts[-1] for r in records("confusion", method="er + ncm")], axis=0)
    np.testing.assert_allclose(np.diag(axes.images[0].get_array()), np.diag(last)[PAIRED])


def test_a_rule_without_counts_is_not_shown_with_those_of_another() -> None:
    lacking = [replace(r, confusion=None) if r.rule else r for r in of("confusion")]
    titles = [axes.get_title().partition(",")[0] for axes in confusion("confusion", lacking).axes]
    assert titles == ["ER", "SS-IL", "BISON"]


def test_shuffled_classes_are_shown_by_id() -> None:
    axes = panel(confusion("demo", of("demo")), "BISON")
    assert [text.get_text() for text in axes.get_xticklabels()] == [str(i) for i in range(10)]


def test_no_matrices_no_figure() -> None:
    with pytest.raises(NotShown, match="20 classes"):
        confusion("ablation", of("ablation"))


def test_too_many_for_one_figure() -> None:
    with pytest.raises(NotShown, match="too many"):
        confusion("sensitivity", of("sensitivity"))

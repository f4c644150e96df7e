"""Confusion matrices: the records' counts, in the right order, the right cells outlined."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bison_ocl.report.figures.bars import newest_precision
from bison_ocl.report.figures.chart import Chart, NotShown
from bison_ocl.report.figures.confusion import confusion
from bison_ocl.report.figures.drawing.figure import figure
from bison_ocl.report.figures.views import charted
from bison_ocl.report.study.entry import Entry
from tests.report.figures.charted import chart, charts, of, records

PAIRED = [3, 5, 4, 7, 1, 9, 0, 8, 2, 6]
NAMES = ["cat", "dog", "deer", "horse", "automobile", "truck", "airplane", "ship", "bird", "frog"]


def counts(made: Chart) -> np.ndarray[Any, Any]:
    assert made.map is not None
    return np.array(made.map.values)


def outlined(made: Chart, kind: str = "largest error") -> list[tuple[int, int]]:
    """Row and column of the outlined cells."""
    assert made.map is not None
    return [(frame.row, frame.column) for frame in made.map.frames if frame.kind == kind]


def test_counts_are_the_mean_over_seeds_with_similar_classes_side_by_side() -> None:
    made = chart(confusion, "confusion", title="BISON")
    last = np.mean([r.counts[-1] for r in records("confusion", method="bison")], axis=0)
    np.testing.assert_allclose(counts(made), last[np.ix_(PAIRED, PAIRED)])
    assert made.x.names == made.y.names == NAMES


def test_the_largest_error_of_each_row_is_outlined() -> None:
    made = chart(confusion, "confusion", title="BISON")
    errors = counts(made)
    np.fill_diagonal(errors, -1)
    assert outlined(made) == [(row, int(errors[row].argmax())) for row in range(10)]
    assert outlined(made, "similar pair") == [(row, row) for row in (0, 2, 4, 6, 8)]


def with_counts(found: Any) -> list[Entry]:
    (first, *_) = records("demo", method="er")
    return [replace(first, confusion=[found], class_order=list(range(len(found))))]


def test_a_row_without_errors_has_no_outline() -> None:
    made = chart(confusion, "demo", with_counts([[5, 0, 0], [1, 2, 2], [4, 1, 0]]), "ER")
    assert outlined(made) == [(1, 2), (2, 0)]


def test_a_larger_diagonal_is_no_error() -> None:
    assert outlined(chart(confusion, "demo", with_counts([[9, 1], [0, 3]]), "ER")) == [(0, 1)]


def test_an_error_that_is_printed_as_none_is_not_outlined() -> None:
    (one,) = with_counts([[9, 1, 0], [0, 9, 1], [0, 0, 9]])
    rest = replace(one, confusion=[np.diag([9, 9, 9]).tolist()])
    seeds = [one, replace(rest, seed=1), replace(rest, seed=2)]
    assert outlined(chart(confusion, "demo", seeds, "ER")) == []


def titles(made: list[Chart]) -> list[str]:
    return [one.title.partition(",")[0] for one in made]


def test_of_networks_scored_twice_the_common_rule_is_shown() -> None:
    assert titles(charts(confusion, "confusion")) == ["ER + NCM", "SS-IL + NCM", "BISON"]


def test_a_folder_shows_every_readout_the_own_rule_too() -> None:
    own, *others = (r for r in of("confusion") if r.method in ("er", "er + ncm"))
    assert titles(charts(confusion, "mine", [own, *others])) == ["ER", "ER + NCM"]


def test_the_rule_has_its_own_counts() -> None:
    made = chart(confusion, "confusion", title="ER + NCM")
    last = np.mean([r.counts[-1] for r in records("confusion", method="er + ncm")], axis=0)
    np.testing.assert_allclose(np.diag(counts(made)), np.diag(last)[PAIRED])


def test_a_rule_without_counts_is_not_shown_with_those_of_another() -> None:
    lacking = [replace(r, confusion=None) if r.rule else r for r in of("confusion")]
    assert titles(charts(confusion, "confusion", lacking)) == ["ER", "SS-IL", "BISON"]


def test_shuffled_classes_are_shown_by_id() -> None:
    assert chart(confusion, "demo", title="BISON").x.names == [str(i) for i in range(10)]


ANIMALS = [
    *("bear", "bison", "crane", "otter", "seal"),
    *("swan", "tench", "viper", "whale", "wren"),
]


def named(entry: Entry) -> Entry:
    return replace(entry, data="folder:/data/herd", class_names=ANIMALS)


def test_classes_are_called_by_the_names_that_a_record_keeps() -> None:
    found = [named(r) for r in records("demo", method="bison")]
    assert chart(confusion, "demo", found, "BISON").x.names == ANIMALS
    (one, *_) = found
    order = [ANIMALS[label] for label in one.class_order]
    assert chart(confusion, "demo", [one], "BISON").y.names == order


def test_one_record_with_names_is_enough() -> None:
    one, *others = (named(r) for r in records("demo", method="bison"))
    older = [replace(r, class_names=None) for r in others]
    assert chart(confusion, "demo", [*older, one], "BISON").x.names == ANIMALS


def test_a_class_heads_its_precision_by_name_or_as_a_class() -> None:
    found = records("confusion", method="bison")
    digits = [replace(r, class_names=[str(n) for n in range(10)]) for r in found]
    for runs, wanted in (([named(r) for r in found], "tench"), (digits, "class 6")):
        made = charts(newest_precision, "confusion", runs)
        assert made[-1].x.label == f"precision of {wanted} ↑ (%)", [one.x.label for one in made]


def test_names_of_many_classes_do_not_touch() -> None:
    (one,) = with_counts(np.eye(20, dtype=int).tolist())
    one = replace(one, class_names=[f"n{n:08}_american_black_bear" for n in range(20)])
    made = figure(charts(confusion, "demo", [one]))
    (axes,) = made.axes
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(upper.y0 > lower.y1 for upper, lower in pairwise(boxes))


def test_no_matrices_no_figure() -> None:
    with pytest.raises(NotShown, match="20 classes"):
        charts(confusion, "ablation")


def test_too_many_for_one_figure() -> None:
    found = [replace(r, method=f"m{n}") for n in range(25) for r in records("demo", method="er")]
    said = dict(charted("mine", found))["mine-confusion"]
    assert said == "25 charts are too many for one figure"

"""Accuracy curves: the records' numbers, their deviations and the paper's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from bison_ocl.evaluate.metrics import accuracy_curve
from bison_ocl.report.figures.curves import curves
from bison_ocl.report.figures.drawing.figure import figure
from bison_ocl.report.study.entry import by_own_rule
from tests.report.figures.charted import chart, charts, listed, notes, of, records, series


def test_a_line_is_the_mean_over_seeds_with_its_deviation() -> None:
    values = np.array([accuracy_curve(r.accuracy) for r in records("demo", 3, method="bison")])
    drawn = series(chart(curves, "demo", of("demo", 3)), "BISON")
    assert drawn.x == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(drawn.y, 100 * values.mean(0))
    np.testing.assert_allclose(drawn.y_error, 100 * values.std(0, ddof=1))
    mean, std = 100 * values.mean(0)[-1], 100 * values.std(0, ddof=1)[-1]
    assert drawn.hover[-1] == f"{mean:.1f} ± {std:.1f}"


def test_one_line_a_method_and_one_chart_a_cell() -> None:
    made = charts(curves, "curves", by_own_rule(of("curves")))
    assert len(made) == 3
    (cifar10,) = [one for one in made if one.title.startswith("Split CIFAR-10,")]
    assert len([one for one in cifar10.series if len(one.x) == 5]) == 16  # OCM by both readings
    assert set(listed(made)) >= {"BISON", "ER", "FINE-TUNE", "A-GEM", "SS-IL", "GDumb"}


def test_the_papers_number_stands_beyond_the_last_task() -> None:
    made = chart(curves, "curves", title="Split CIFAR-10,")
    paper = series(made, "BISON (paper)")
    assert paper.y == [58.0]
    assert paper.x[0] > 5
    assert paper.look.hollow
    (guide,) = made.guides
    assert guide.text == "paper"
    assert guide.x is not None
    assert 5 < guide.x < paper.x[0]


def test_what_says_paper_covers_none_of_the_papers_markers() -> None:
    """FINE-TUNE's are near the bottom."""
    made = chart(curves, "curves", title="Split CIFAR-100,")
    drawn = figure([made])
    FigureCanvasAgg(drawn).draw()
    (axes,) = drawn.axes
    (label,) = [text for text in axes.texts if text.get_text().strip() == "paper"]
    box = label.get_window_extent().padded(8)  # markers are about as wide
    for one in (one for one in made.series if "(paper)" in one.name):
        assert not box.contains(*axes.transData.transform((one.x[0], one.y[0])))


def test_the_ablation_has_its_own_names_and_numbers() -> None:
    assert series(chart(curves, "ablation"), "w/o DC & PAF (paper)").y == [18.1]


@pytest.mark.parametrize(
    "changes",
    [{"stream": "natural"}, {"data_options": {"tasks": 5}}, {"memory": 300}, {"data": "other"}],
    ids=str,
)
def test_other_experiments_than_the_papers_have_no_paper(changes: dict[str, Any]) -> None:
    other = [replace(r, **changes) for r in records("curves", method="er")]
    for made in charts(curves, "curves", other):
        assert not [one for one in made.series if "paper" in one.name]


def test_the_note_says_what_there_is() -> None:
    few, many = charts(curves, "demo", of("demo", 3)), charts(curves, "curves")
    assert "Bands: one standard deviation" in notes(few)
    assert "Bands" not in notes(many)
    assert "the paper's accuracy after the last task" in notes(many)


def test_a_single_seed_has_no_deviation() -> None:
    made = chart(curves, "demo", records("demo", seed=0))
    assert not any(one.y_error for one in made.series)
    assert made.title.endswith("n = 1")
    assert "Bands" not in notes([made])

"""Accuracy curves: the records' numbers, their bands and the paper's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from bison_ocl.evaluate.metrics import accuracy_curve
from bison_ocl.report.figures.curves import curves
from bison_ocl.report.study.entry import own
from tests.report.figures.drawn import legend_texts, line, note, of, panel, records


def test_a_line_is_the_mean_over_seeds_and_its_band_the_deviation() -> None:
    axes = panel(curves("demo", of("demo", 3)), "Split")
    values = np.array([accuracy_curve(r.accuracy) for r in records("demo", 3, method="bison")])
    drawn = line(axes, "BISON")
    np.testing.assert_array_equal(drawn.get_xdata(), [1, 2, 3, 4, 5])
    np.testing.assert_allclose(drawn.get_ydata(), 100 * values.mean(0))
    bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
    highest = max(bands, key=lambda band: band.get_paths()[0].vertices[:, 1].min())
    spread = np.unique(highest.get_paths()[0].vertices[:, 1].round(9))
    edges = 100 * np.concatenate(
        [values.mean(0) + sign * values.std(0, ddof=1) for sign in (-1, 1)]
    )
    np.testing.assert_allclose(spread, np.unique(edges.round(9)))


def test_one_line_a_method_and_one_panel_a_cell() -> None:
    figure = curves("curves", own(of("curves")))
    assert len(figure.axes) == 3
    ours = [
        one for one in panel(figure, "Split CIFAR-10,").get_lines() if len(one.get_xdata()) == 5
    ]
    assert len(ours) == 16  # OCM by both readings
    assert set(legend_texts(figure)) >= {"BISON", "ER", "FINE-TUNE", "A-GEM", "SS-IL", "GDumb"}


def test_the_papers_number_stands_beyond_the_last_task() -> None:
    axes = panel(curves("curves", of("curves")), "Split CIFAR-10,")
    paper = line(axes, "BISON (paper)")
    assert paper.get_ydata() == [58.0]
    assert paper.get_xdata()[0] > 5
    assert axes.get_xticklabels()[-1].get_text() == "paper"


def test_the_ablation_has_its_own_names_and_numbers() -> None:
    axes = panel(curves("ablation", of("ablation")), "Split")
    assert line(axes, "w/o DC & PAF (paper)").get_ydata() == [18.1]


@pytest.mark.parametrize(
    "changes",
    [{"stream": "natural"}, {"data_options": {"tasks": 5}}, {"memory": 300}, {"data": "other"}],
    ids=str,
)
def test_other_experiments_than_the_papers_have_no_paper(changes: dict[str, object]) -> None:
    figure = curves("curves", [replace(r, **changes) for r in records("curves", method="er")])
    assert not [one for one in figure.axes[0].get_lines() if "paper" in str(one.get_label())]


def test_many_methods_have_no_bands_and_the_note_says_what_there_is() -> None:
    few, many = curves("demo", of("demo", 3)), curves("curves", of("curves"))
    assert panel(few, "Split").collections
    assert "Bands: one standard deviation" in note(few)
    assert not panel(many, "Split CIFAR-10,").collections
    assert "Bands" not in note(many)
    assert "the paper's accuracy after the last task" in note(many)


def test_a_single_seed_has_no_band() -> None:
    axes = panel(curves("demo", records("demo", seed=0)), "Split")
    assert not axes.collections
    assert axes.get_title().endswith("n = 1")

"""The map of β and λ: every cell, the best one, the paper's choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bison_ocl.report.figures.sensitivity import sensitivity
from bison_ocl.report.study.groups import NotShown
from tests.report.figures.drawn import of, percent


def maps(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.images]


def at(beta: float, weight: float, data: str = "split-cifar10") -> list[dict[str, object]]:
    return [
        r
        for r in of("sensitivity")
        if (r.data, r.settings.get("beta"), r.settings.get("lambda")) == (data, beta, weight)
    ]


def framed(axes: Axes, label: str) -> tuple[int, int]:
    """Row and column."""
    (frame,) = [one for one in axes.patches if one.get_label() == label]
    return (
        round(frame.get_y() + frame.get_height() / 2),
        round(frame.get_x() + frame.get_width() / 2),
    )


def test_a_cell_is_the_mean_of_its_runs() -> None:
    mini_first = maps(sensitivity("sensitivity", of("sensitivity")))
    assert len(mini_first) == 4
    accuracy = next(a for a in mini_first if a.get_title().startswith("Split CIFAR-10,"))
    values = np.array(accuracy.images[0].get_array())
    assert values.shape == (4, 7)
    assert values[1, 5] == pytest.approx(percent(at(0.1, 3.0), "AA").mean())
    assert values[3, 0] == pytest.approx(percent(at(0.2, 0.5), "AA").mean())
    assert [t.get_text() for t in accuracy.get_yticklabels()] == ["0.05", "0.1", "0.15", "0.2"]
    assert f"{values[1, 5]:.1f}" in [text.get_text() for text in accuracy.texts]


def test_frames_the_best_and_the_papers_choice() -> None:
    accuracy, balance = [
        a
        for a in maps(sensitivity("sensitivity", of("sensitivity")))
        if a.get_title().startswith("Split CIFAR-10,")
    ]
    values = np.array(accuracy.images[0].get_array())
    assert framed(accuracy, "best") == np.unravel_index(values.argmax(), values.shape)
    assert framed(accuracy, "paper's choice") == framed(balance, "paper's choice") == (1, 5)
    assert accuracy.get_title().endswith("paper: 52.5 at β = 0.1, λ = 3")
    values = np.array(balance.images[0].get_array())
    assert framed(balance, "best") == np.unravel_index(values.argmin(), values.shape)


def test_balance_is_the_distance_from_zero() -> None:
    balance = maps(sensitivity("sensitivity", of("sensitivity")))[1]
    found = at(0.1, 3.0)
    wanted = np.hypot(percent(found, "AI").clip(0), percent(found, "AF_table").clip(0)).mean()
    np.testing.assert_allclose(np.array(balance.images[0].get_array())[1, 5], wanted)


def test_a_missing_cell_stays_empty() -> None:
    some = [r for r in of("sensitivity") if r not in at(0.1, 3.0)]
    accuracy = maps(sensitivity("sensitivity", some))[0]
    assert np.ma.getmaskarray(accuracy.images[0].get_array())[1, 5]
    assert len(accuracy.texts) == 27


def test_runs_with_other_changes_do_not_count() -> None:
    spoilt = [
        replace(r, settings={**r.settings, "gamma": 16.0}) if r in at(0.1, 3.0) else r
        for r in of("sensitivity")
    ]
    accuracy = maps(sensitivity("sensitivity", spoilt))[0]
    assert np.ma.getmaskarray(accuracy.images[0].get_array())[1, 5]


def test_one_choice_is_no_grid() -> None:
    with pytest.raises(NotShown, match="beta and lambda"):
        sensitivity("demo", of("demo"))

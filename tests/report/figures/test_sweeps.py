"""Measures over settings that vary: the map of β and λ, and what the page compares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bison_ocl.report.figures.chart import Chart, NotShown
from bison_ocl.report.figures.sweeps import buffer_batch, over_settings, sensitivity
from bison_ocl.report.figures.views import charted
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.measures import BALANCE
from tests.report.figures.charted import charts, of, percent, series


def maps(found: list[Entry] | None = None) -> list[Chart]:
    """Of CIFAR-10: accuracy, then balance."""
    made = charts(sensitivity, "sensitivity", found)
    return [one for one in made if one.title.startswith("Split CIFAR-10,")]


def values(made: Chart) -> np.ndarray[Any, Any]:
    assert made.map is not None
    return np.array(made.map.values)


def at(beta: float, weight: float, data: str = "split-cifar10") -> list[Entry]:
    return [
        r
        for r in of("sensitivity")
        if (r.data, r.settings.get("beta"), r.settings.get("lambda")) == (data, beta, weight)
    ]


def framed(made: Chart, kind: str) -> tuple[int, int]:
    """Row and column."""
    assert made.map is not None
    (frame,) = [one for one in made.map.frames if one.kind == kind]
    return frame.row, frame.column


def test_a_cell_is_the_mean_of_its_runs() -> None:
    assert len(charts(sensitivity, "sensitivity")) == 4
    accuracy, _ = maps()
    assert values(accuracy)[1, 5] == pytest.approx(percent(at(0.1, 3.0), "AA").mean())
    assert values(accuracy)[3, 0] == pytest.approx(percent(at(0.2, 0.5), "AA").mean())
    assert accuracy.y.names == ["0.05", "0.1", "0.15", "0.2"]


def test_frames_the_best_and_the_papers_choice() -> None:
    accuracy, balance = maps()
    shape = values(accuracy).shape
    assert framed(accuracy, "best") == np.unravel_index(values(accuracy).argmax(), shape)
    assert framed(accuracy, "paper's choice") == framed(balance, "paper's choice") == (1, 5)
    assert accuracy.title.endswith("paper: 52.5 at β = 0.1, λ = 3")
    assert framed(balance, "best") == np.unravel_index(values(balance).argmin(), shape)


def test_balance_is_the_distance_from_zero() -> None:
    _, balance = maps()
    found = at(0.1, 3.0)
    wanted = np.hypot(percent(found, "AI").clip(0), percent(found, "AF_table").clip(0)).mean()
    assert values(balance)[1, 5] == pytest.approx(wanted)


def test_intransigence_below_zero_is_no_better_than_zero() -> None:
    one = at(0.1, 3.0)[0]
    assert BALANCE.of(replace(one, metrics=replace(one.metrics, AI=-0.3, AF_table=0.4))) == 40


def test_a_missing_cell_stays_empty() -> None:
    accuracy = maps([r for r in of("sensitivity") if r not in at(0.1, 3.0)])[0]
    assert np.argwhere(np.isnan(values(accuracy))).tolist() == [[1, 5]]


def older(found: list[Entry]) -> list[Entry]:
    """Runs from before weights could be averaged."""
    return [
        replace(r, settings={k: v for k, v in r.settings.items() if k != "average"}) for r in found
    ]


def test_a_setting_that_is_younger_than_some_runs_does_not_vary() -> None:
    """The main table's runs are copied to where other weights and buffer batches are tried."""
    preset = at(0.1, 3.0)
    others = [r for r in of("sensitivity") if r not in preset]
    assert np.array_equal(values(maps([*others, *older(preset)])[0]), values(maps()[0]))
    sizes = of("buffer-batch")
    mixed = [r for r in sizes if r.settings["buffer_batch"] != 10]
    mixed += older([r for r in sizes if r.settings["buffer_batch"] == 10])
    (chart,) = charts(buffer_batch, "buffer-batch", mixed)
    assert list(chart.series[0].x) == [10, 16, 32, 64, 100]


def test_runs_with_other_changes_do_not_count() -> None:
    spoilt = [
        replace(r, settings={**r.settings, "gamma": 16.0}) if r in at(0.1, 3.0) else r
        for r in of("sensitivity")
    ]
    assert np.isnan(values(maps(spoilt)[0])[1, 5])


def test_one_choice_is_no_grid() -> None:
    with pytest.raises(NotShown, match="beta and lambda"):
        charts(sensitivity, "demo")


def swept(found: list[Entry]) -> list[Chart]:
    return charts(over_settings, "x", found)


def with_settings(*choices: dict[str, Any]) -> list[Entry]:
    """The runs of ER, once for each choice, beside BISON's."""
    er = [r for r in of("demo") if r.method == "er"]
    other = [r for r in of("demo") if r.method == "bison"]
    return [
        *other,
        *(replace(r, settings={**r.settings, **one}) for one in choices for r in er),
    ]


def test_one_number_that_varies_makes_a_line_and_two_a_map() -> None:
    (line,) = swept(with_settings({"lr": 0.1}, {"lr": 0.05}))
    assert line.x.label == "lr"
    assert series(line, "ER").x == [0.05, 0.1]
    both = [{"lr": lr, "stream_batch": size} for lr in (0.05, 0.1) for size in (5, 10)]
    (grid,) = swept(with_settings(*both))
    assert grid.map is not None
    assert values(grid).shape == (2, 2)


def test_panels_of_a_setting_share_their_scale() -> None:
    found = with_settings({"lr": 0.1}, {"lr": 0.05})
    scales = [one.scale for one in swept([*found, *(replace(r, memory=500) for r in found)])]
    assert len(scales) == 2
    assert scales[0] == scales[1] != ""


def test_a_line_of_a_method_from_outside_has_its_title() -> None:
    found = with_settings({"lr": 0.1}, {"lr": 0.05})
    mine = {"method": "mine", "method_title": "Mine"}
    (line,) = swept([replace(r, **mine) if r.method == "er" else r for r in found])
    assert series(line, "Mine").x == [0.05, 0.1]


def test_a_sweep_has_a_figure_among_the_files() -> None:
    drawn = dict(charted("mine", with_settings({"lr": 0.1}, {"lr": 0.05})))
    (line,) = drawn["mine-sweep"]
    assert isinstance(line, Chart)
    assert series(line, "ER").x == [0.05, 0.1]
    assert "mine-sweep" not in dict(charted("mine", of("demo")))


def test_what_is_no_number_or_does_not_vary_is_not_swept() -> None:
    assert swept(list(of("demo"))) == []
    assert swept(with_settings({"joint": True}, {"joint": False})) == []


def test_values_of_different_orders_are_on_a_logarithmic_axis() -> None:
    orders = [{"lr": lr} for lr in (0.1, 0.0001, 0.001, 0.01)]
    (line,) = swept(with_settings(*orders))
    assert (line.x.log, line.x.ticks) == (True, [0.0001, 0.001, 0.01, 0.1])
    for others in ([{"lr": 0.1}, {"lr": 0.05}], [{"lr": 0}, *orders]):
        (linear,) = swept(with_settings(*others))
        assert not linear.x.log
        assert linear.scale != line.scale


def test_ticks_of_close_values_do_not_touch() -> None:
    (line,) = swept(with_settings(*({"lr": lr} for lr in (0, 0.0001, 0.001, 0.1, 1))))
    assert line.x.ticks == [0, 0.1, 1]
    assert len(series(line, "ER").x) == 5


def test_the_runs_of_a_sweep_are_those_of_its_own_methods() -> None:
    found = with_settings({"lr": 0.1}, {"lr": 0.05})
    (line,) = swept([r for r in found if r.method != "er" or r.seed == 0])
    assert line.title.endswith("n = 1")


def test_maps_of_several_methods_name_them() -> None:
    both = [{"lr": lr, "stream_batch": size} for lr in (0.05, 0.1) for size in (5, 10)]
    found = with_settings(*both)
    mine = {"method": "mine", "method_title": "Mine"}
    er, other = swept([*found, *(replace(r, **mine) for r in found if r.method == "er")])
    assert er.title.startswith("ER, n = 2\n")
    assert other.title.startswith("Mine, n = 2\n")

"""Matplotlib draws what a chart holds: the numbers, the deviations, the names, the frames."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection

from bison_ocl.look import BLUE, ORANGE, Look
from bison_ocl.report.figures.chart import Axis, Chart, Frame, Guide, Map, Series
from bison_ocl.report.figures.drawing.figure import figure

PLAIN = Look(BLUE, "o")
CURVE = Series("A", PLAIN, [1, 2, 3], [10.0, 20.0, math.nan], y_error=[1.0, 2.0, 3.0])


def drawn(*series: Series, x: Axis | None = None, y: Axis | None = None, **rest: object) -> Axes:
    chart = Chart("T", x or Axis("across"), y or Axis("up"), series, **rest)  # type: ignore[arg-type]
    return figure([chart]).axes[0]


def test_a_curve_is_a_line_with_a_band() -> None:
    axes = drawn(CURVE)
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(line.get_ydata(), [10, 20, np.nan])
    (band,) = [one for one in axes.collections if isinstance(one, PolyCollection)]
    edges = band.get_paths()[0].vertices[:, 1]
    assert {9.0, 11.0, 18.0, 22.0} <= set(edges.tolist())


def test_many_curves_have_no_bands() -> None:
    assert not drawn(*(replace(CURVE, name=str(n)) for n in range(6))).collections


def test_a_line_and_points_have_error_bars() -> None:
    for kind in ("line", "points"):
        (container,) = drawn(replace(CURVE, kind=kind)).containers  # type: ignore[arg-type]
        assert container.get_label() == "A"
        low, high = container.lines[2][0].get_segments()[0][:, 1]
        assert (low, high) == (9, 11)


def test_bars_begin_where_they_should_and_say_their_text() -> None:
    first = Series("train", PLAIN, [3.0], [0], "bar")
    then = Series(
        "test", Look(ORANGE, "s"), [1.0], [0], "bar", start=3.0, x_error=[0.5], text="4 s"
    )
    axes = drawn(first, then, y=Axis(names=["ER"]))
    one, other = axes.patches
    assert (one.get_x(), one.get_width()) == (0, 3)
    assert (other.get_x(), other.get_width()) == (3, 1)
    (text,) = axes.texts
    assert text.get_text().strip() == "4 s"
    assert text.get_position()[0] == 4.5
    assert [label.get_text() for label in axes.get_yticklabels()] == ["ER"]


def test_points_with_a_shade_share_a_scale_and_are_named() -> None:
    points = [
        Series("ours", PLAIN, [x], [x], "points", x_error=[1.0], y_error=[1.0], shade=x, text=name)
        for x, name in ((1.0, "one"), (9.0, "nine"))
    ]
    axes = drawn(*points, shade="AA (%)")
    scattered = [one for one in axes.collections if isinstance(one, PathCollection)]
    assert [one.get_array().tolist() for one in scattered] == [[1.0], [9.0]]
    assert len({one.norm.vmin for one in scattered}) == 1
    assert {"one", "nine"} <= {text.get_text() for text in axes.texts}


def test_a_map_shows_its_numbers_and_frames() -> None:
    values = [[1.0, math.nan], [30.0, 4.0]]
    frames = [Frame(1, 0, "best"), Frame(0, 0, "similar pair", size=2)]
    names = ["a", "b"]
    axes = drawn(x=Axis("x", names), y=Axis("y", names), map=Map(values, 0, frames))
    assert [text.get_text() for text in axes.texts] == ["1", "30", "4"]
    assert [text.get_text() for text in axes.get_yticklabels()] == names
    best, pair = axes.patches
    assert (best.get_label(), round(best.get_y()), round(best.get_x())) == ("best", 1, 0)
    assert pair.get_width() > 1.5


def test_axes_and_guides() -> None:
    axes = drawn(
        CURVE,
        x=Axis("size", ticks=[1, 2, 4], log=True),
        y=Axis("up", limits=(0, None)),
        guides=[Guide(x=2, text="here")],
    )
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "4"]
    assert axes.get_ylim()[0] == 0
    assert axes.texts[0].get_text().strip() == "here"


def test_a_legend_names_each_line_once_and_notes_are_told_once() -> None:
    hidden = replace(CURVE, name="hidden", listed=False)
    chart = Chart("T", Axis(), Axis(), [CURVE, hidden], notes=["One.", "Two."])
    made = figure([chart, chart])
    (legend,) = made.legends
    assert [text.get_text() for text in legend.get_texts()] == ["A"]
    assert " ".join(made.get_supxlabel().split()) == "One. Two."


@pytest.mark.parametrize(("charts", "rows"), [(1, 1), (3, 1), (4, 2), (7, 3)])
def test_panels_fill_rows(charts: int, rows: int) -> None:
    made = figure([Chart("T", Axis(), Axis(), [CURVE])] * charts)
    tops = {round(axes.get_position().y1, 2) for axes in made.axes if axes.axison}
    assert len(tops) == rows


def test_a_long_title_keeps_the_dataset_and_the_end() -> None:
    long = "Split Digits, validated on 10 %, blurry:disjoint=50,spill=10, M = 100, n = 3"
    shown = figure([Chart(f"{long}\nER", Axis(), Axis())]).axes[0].get_title()
    first, second = shown.split("\n")
    assert first.startswith("Split Digits, validated on 10 %")
    assert first.endswith("M = 100, n = 3")
    assert len(first) < len(long)
    assert second == "ER"


@pytest.mark.parametrize("width", [None, 3.25])
def test_no_title_leaves_its_column(width: float | None) -> None:
    rows = Axis(names=["BISON (beta=0.05, lambda=0.1)"])
    bars = [Series("training", PLAIN, [1.0], [0], "bar")]
    wide = "Split Digits, validated on 10 %, blurry:disjoint=50, M = 50, n = 2"
    made = figure([Chart(title, Axis(), rows, bars) for title in (wide, "T", f"{wide}\nER")], width)
    column = made.get_window_extent().width / (3 if width is None else 1)
    for place, axes in enumerate(made.axes):
        title, left = axes.title.get_window_extent(), place * column * (width is None)
        assert left <= title.x0 < title.x1 <= left + column
        assert axes.get_title().split("\n")[0].endswith(("M = 50, n = 2", "T"))


def test_a_guide_outside_the_panel_takes_no_room() -> None:
    point = Series("A", PLAIN, [15.0, 19.0], [18.7, 18.8], "points")
    near = Axis("across", limits=(15, 19))
    alone, guided = (drawn(point, x=near, guides=guides) for guides in ((), [Guide(x=-400)]))
    assert guided.get_position().width == pytest.approx(alone.get_position().width)

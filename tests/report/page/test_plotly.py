"""Charts as Plotly draws them: the same numbers, looks and names, as plain JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from bison_ocl.look import BLUE, Look
from bison_ocl.methods import METHODS
from bison_ocl.report.figures.chart import Axis, Chart, Guide, Series
from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.page.plotly import figure, plain
from bison_ocl.report.study.looks import look_of
from tests.report.figures.charted import chart

PLAIN = Look(BLUE, "o")
CURVE = Series(
    "A", PLAIN, [1, 2], [10.0, math.nan], method="a", y_error=[1.0, 2.0], hover=("x", "y")
)


def drawn(*series: Series, y: Axis | None = None, **rest: Any) -> dict[str, Any]:
    made = figure(Chart("T", Axis("across"), y or Axis("up", limits=(0, None)), series, **rest))
    return json.loads(json.dumps(made, allow_nan=False))  # type: ignore[no-any-return]


def test_a_curve_is_a_line_with_a_band_and_a_gap_where_it_diverged() -> None:
    (line,) = drawn(CURVE)["data"]
    assert (line["x"], line["y"]) == ([1, 2], [10.0, None])
    assert line["customdata"] == ["x", "y"]
    assert line["meta"] == {"method": "a", "band": [1.0, 2.0]}


def test_rows_have_names_and_bars_begin_where_they_should() -> None:
    bar = Series("tests", PLAIN, [3.0], [1], "bar", start=2.0, x_error=[0.5])
    made = drawn(bar, y=Axis(names=["ER", "BISON"]))
    (one,) = made["data"]
    assert (one["y"], one["x"], one["base"]) == (["BISON"], [3.0], 2.0)
    assert one["error_x"]["array"] == [0.5]
    assert made["layout"]["yaxis"]["type"] == "category"


def test_limits_and_guides() -> None:
    made = drawn(CURVE, guides=[Guide(x=1.5, text="paper"), Guide(y=0.5, dashes=":")])["layout"]
    assert made["yaxis"]["rangemode"] == "tozero"
    assert [(shape["x0"], shape["y0"]) for shape in made["shapes"]] == [(1.5, 0), (0, 0.5)]
    assert [(one["text"], one["y"]) for one in made["annotations"]] == [("paper", 0)]
    above = drawn(CURVE, guides=[Guide(x=1.5, text="paper", at_top=True)])["layout"]
    assert above["annotations"][0]["y"] == 1


def test_ticks_are_written_as_in_the_figures() -> None:
    rates = Axis("lr", ticks=[0.0001, 0.1], log=True)
    axis = figure(Chart("T", rates, Axis("up"), [CURVE]))["layout"]["xaxis"]
    assert (axis["type"], axis["ticktext"]) == ("log", ["0.0001", "0.1"])


def test_every_point_of_the_interplay_is_named() -> None:
    made = figure(chart(interplay, "demo"))
    names = {one["text"]: one for one in made["layout"]["annotations"]}
    assert set(names) == {"FINE-TUNE", "ER", "BISON"}
    assert names["ER"]["name"] == "er"  # its box switches the name off too


@pytest.mark.parametrize("method", METHODS)
def test_a_method_looks_as_in_the_figures(method: str) -> None:
    look = look_of(method)
    (one,) = drawn(Series("A", look, [1], [1], "line"))["data"]
    assert one["line"]["color"] == look.colour
    assert (one["marker"]["symbol"] == "circle") == (look.marker == "o")


def test_text_is_shown_as_it_is() -> None:
    assert plain("<b>$x$ & y</b>\nz") == "&lt;b&gt;&#36;x&#36; &amp; y&lt;/b&gt;<br>z"

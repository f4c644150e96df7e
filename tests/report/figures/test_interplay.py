"""The interplay graph: AI across, AF up, AA as colour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from bison_ocl.look import BLACK, Look
from bison_ocl.report.figures.chart import Chart, NotShown, Series
from bison_ocl.report.figures.drawing.figure import figure
from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.figures.point_names import CLEAR, HALF, LETTER, offsets
from bison_ocl.report.study.entry import by_own_rule
from bison_ocl.report.study.measures import AF
from tests.report.figures.charted import chart, charts, notes, of, percent, records


def points(made: Chart, name: str = "ours") -> dict[str, Series]:
    return {
        one.text or str(place): one for place, one in enumerate(made.series) if one.name == name
    }


def test_a_point_is_ai_af_and_aa_with_its_deviations() -> None:
    made = points(chart(interplay, "demo"))
    for method, name in (("finetune", "FINE-TUNE"), ("er", "ER"), ("bison", "BISON")):
        found, point = records("demo", method=method), made[name]
        assert point.x[0] == pytest.approx(percent(found, "AI").mean())
        assert point.y[0] == pytest.approx(percent(found, "AF_table").mean())
        assert point.shade == pytest.approx(percent(found, "AA").mean())
        assert point.x_error[0] == pytest.approx(percent(found, "AI").std(ddof=1))
        assert point.y_error[0] == pytest.approx(percent(found, "AF_table").std(ddof=1))


def test_forgetting_by_the_texts_formula() -> None:
    made = chart(lambda found: interplay(found, AF), "demo")
    found = records("demo", method="er")
    assert points(made)["ER"].y[0] == pytest.approx(percent(found, "AF").mean())
    assert AF.what in notes([made])


def test_the_paper_is_crosses_tied_to_ours() -> None:
    made = chart(interplay, "balance", title="Split CIFAR-10,")
    crosses = list(points(made, "paper").values())
    assert len(crosses) == 15
    assert (12.8, 15.4) in [(one.x[0], one.y[0]) for one in crosses]  # BISON
    assert {one.look.marker for one in crosses} == {"x"}
    ties = [one for one in made.series if one.name == "tie"]
    assert [(one.x[1], one.y[1]) for one in ties] == [(one.x[0], one.y[0]) for one in crosses]
    assert "crosses" in notes([made]).lower()


def test_without_the_paper_no_crosses() -> None:
    assert "crosses" not in notes(charts(interplay, "demo")).lower()


def test_every_point_is_named_and_names_do_not_cover_each_other() -> None:
    made = chart(interplay, "balance", by_own_rule(of("balance")), title="Split CIFAR-10,")
    drawn = figure([made])
    FigureCanvasAgg(drawn).draw()
    axes = drawn.axes[0]
    names = [text for text in axes.texts if text.get_text().strip()]
    assert {text.get_text() for text in names} >= {"BISON", "FINE-TUNE", "OCM"}
    assert len(names) == 16  # OCM by both readings
    boxes = [Text.get_window_extent(text) for text in names]  # without the line to the point
    assert not [
        (one, other)
        for place, one in enumerate(boxes)
        for other in boxes[place + 1 :]
        if one.overlaps(other)
    ]


def test_a_name_is_clearly_nearest_to_its_own_point_or_tied_to_it() -> None:
    """A cluster: where each name would fit best, it is nearer to a neighbour of its point."""
    where = {"ALPHA": (50, 50), "BETA": (56, 53), "GAMMA": (46, 55), "DELTA": (53, 45)}
    shown = [
        Series(name, Look(BLACK, "o"), [x], [y], "points", text=name)
        for name, (x, y) in where.items()
    ]
    found = offsets(shown, (0, 100), (0, 100), 200, 200)
    centres = 2 * np.array(list(where.values()))
    for own, (one, (across, up, tied)) in enumerate(zip(shown, found, strict=True)):
        half = [LETTER * len(one.text) / 2, HALF]
        away = np.maximum(0, np.abs(centres - centres[own] - [across, up]) - half)
        distances = np.linalg.norm(away, axis=1)
        assert tied or np.delete(distances, own).min() >= distances[own] + CLEAR, one.text


def test_a_name_keeps_off_a_neighbour_if_there_is_a_clear_place() -> None:
    """BISON has room at the left only: at the upper left it would stand beside SCR's point."""
    where = {"BISON": (50, 50), "SCR": (57, 60), "PCR": (65, 50), "ER": (63, 42)}
    shown = [
        Series(name, Look(BLACK, "o"), [x], [y], "points", text=name)
        for name, (x, y) in where.items()
    ]
    (across, up, tied), *_ = offsets(shown, (0, 100), (0, 100), 100, 100)
    assert (across < 0, round(up), tied) == (True, 0, False)


def test_a_method_with_a_run_without_ai_is_left_out_and_named() -> None:
    some = [
        replace(r, metrics=replace(r.metrics, AI=None)) if r.method == "er" and r.seed == 1 else r
        for r in of("demo")
    ]
    made = chart(interplay, "demo", some)
    assert set(points(made)) == {"FINE-TUNE", "BISON"}
    assert "not every run has AI: ER." in notes([made])
    assert "not every run" not in notes(charts(interplay, "demo"))


def test_without_any_reference_there_is_no_figure() -> None:
    with pytest.raises(NotShown, match="FINE-TUNE"):
        charts(interplay, "confusion")

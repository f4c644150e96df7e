"""The interplay graph: AI across, AF up, AA as colour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection

from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.study.groups import NotShown
from tests.report.figures.drawn import of, panel, percent, records


def scatter(axes: Axes, label: str) -> PathCollection:
    (found,) = [one for one in axes.collections if one.get_label() == label]
    assert isinstance(found, PathCollection)
    return found


def test_a_point_is_ai_af_and_aa() -> None:
    points = scatter(panel(interplay("demo", of("demo")), "Split"), "ours")
    for place, method in enumerate(("finetune", "er", "bison")):
        found = records("demo", method=method)
        x, y = points.get_offsets()[place]
        assert x == pytest.approx(percent(found, "AI").mean())
        assert y == pytest.approx(percent(found, "AF_table").mean())
        assert points.get_array()[place] == pytest.approx(percent(found, "AA").mean())


def test_the_paper_is_crosses() -> None:
    axes = panel(interplay("balance", of("balance")), "Split CIFAR-10,")
    crosses = scatter(axes, "paper")
    assert len(crosses.get_offsets()) == 15
    assert [12.8, 15.4] in np.asarray(crosses.get_offsets()).tolist()  # BISON
    assert "crosses" in axes.figure.get_supxlabel().lower()


def test_without_the_paper_no_crosses() -> None:
    figure = interplay("demo", of("demo"))
    assert "crosses" not in figure.get_supxlabel().lower()


def test_every_point_is_named_and_names_do_not_cover_each_other() -> None:
    figure = interplay("balance", [r for r in of("balance") if r.rule is None])
    axes = panel(figure, "Split CIFAR-10,")
    names = [text for text in axes.texts if text.get_text()]
    assert {text.get_text() for text in names} >= {"BISON", "FINE-TUNE", "OCM"}
    assert len(names) == 16  # OCM by both readings
    boxes = [text.get_window_extent() for text in names]
    assert not [
        (one, other)
        for place, one in enumerate(boxes)
        for other in boxes[place + 1 :]
        if one.overlaps(other)
    ]


def test_a_method_without_a_reference_is_left_out() -> None:
    some = [
        replace(r, metrics=replace(r.metrics, AI=None)) if r.method == "er" else r
        for r in of("demo")
    ]
    points = scatter(panel(interplay("demo", some), "Split"), "ours")
    assert len(points.get_offsets()) == 2


def test_without_any_reference_there_is_no_figure() -> None:
    with pytest.raises(NotShown, match="FINE-TUNE"):
        interplay("confusion", of("confusion"))

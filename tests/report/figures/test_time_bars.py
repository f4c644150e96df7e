"""Time: training and tests, as multiples of ER's, and on which machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bison_ocl.experiments.records.record import Environment
from bison_ocl.report.figures.time_bars import time_bars
from bison_ocl.report.study.groups import NotShown
from tests.report.figures.drawn import legend_texts, note, of, records


def test_bars_are_seconds_of_training_and_tests() -> None:
    figure = time_bars("time", of("time"))
    (axes,) = figure.axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert len(names) == 14
    for part, label in (("train_s", "training"), ("test_s", "tests")):
        (found,) = [one for one in axes.containers if one.get_label() == label]
        bar = found.patches[names.index("GDumb")]
        wanted = np.mean([getattr(r.timing, part) for r in records("time", method="gdumb")])
        assert bar.get_width() == pytest.approx(wanted)
    assert legend_texts(figure) == ["training", "tests"]


def test_fastest_first_and_times_er() -> None:
    (axes,) = time_bars("time", of("time")).axes
    totals = {
        method: np.mean([r.timing.total_s for r in records("time", method=method)])
        for method in ("er", "ocm")
    }
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names.index("ER") < names.index("BISON") < names.index("OCM")
    said = axes.texts[names.index("OCM")].get_text()
    assert said.endswith(f"× {totals['ocm'] / totals['er']:.2f}")
    assert axes.texts[names.index("ER")].get_text().endswith("× 1.00")


def test_without_er_no_ratio() -> None:
    (axes,) = time_bars("time", records("time", method="bison")).axes
    assert "×" not in axes.texts[0].get_text()


def test_the_machine_is_named_and_several_are_not_to_be_compared() -> None:
    assert note(time_bars("time", of("time"))).endswith("Measured on NVIDIA H200.")
    other = replace(of("time")[0], environment=Environment("a laptop", 2))
    assert "do not compare" in note(time_bars("time", [*of("time"), other]))


def test_seeds_trained_together_are_said() -> None:
    shared = [replace(r, timing=replace(r.timing, seeds_at_once=10)) for r in of("time")]
    assert "10 seeds trained together" in note(time_bars("time", shared))


def test_no_times_no_figure() -> None:
    with pytest.raises(NotShown, match="times"):
        time_bars("time", [])

"""Time: training and tests, as multiples of ER's, and on which machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bison_ocl.report.figures.bars import time_bars
from bison_ocl.report.figures.chart import Chart, Series
from tests.report.figures.charted import chart, charts, listed, notes, of, records


def bar(made: Chart, method: str, part: str) -> Series:
    row = list(made.y.names).index(method)
    (found,) = [one for one in made.series if (one.name, one.y[0]) == (part, row)]
    return found


def test_bars_are_seconds_of_training_and_tests() -> None:
    made = chart(time_bars, "time")
    assert len(made.y.names) == 14
    found = records("time", method="gdumb")
    train, test = (
        np.mean([getattr(r.timing, part) for r in found]) for part in ("train_s", "test_s")
    )
    assert bar(made, "GDumb", "training").x[0] == pytest.approx(train)
    assert bar(made, "GDumb", "tests").x[0] == pytest.approx(test)
    assert bar(made, "GDumb", "tests").start == pytest.approx(train)
    whole = np.std([r.timing.train_s + r.timing.test_s for r in found], ddof=1)
    assert bar(made, "GDumb", "tests").x_error[0] == pytest.approx(whole)
    assert listed([made]) == ["training", "tests"]


def test_fastest_first_and_times_er() -> None:
    made = chart(time_bars, "time")
    totals = {
        method: np.mean([r.timing.total_s for r in records("time", method=method)])
        for method in ("er", "ocm")
    }
    names = list(made.y.names)
    assert names.index("ER") < names.index("BISON") < names.index("OCM")
    said = bar(made, "OCM", "tests").text
    assert said.endswith(f"× {totals['ocm'] / totals['er']:.2f}")
    assert bar(made, "ER", "tests").text.endswith("× 1.00")


def test_without_er_no_ratio() -> None:
    made = chart(time_bars, "time", records("time", method="bison"))
    assert "×" not in bar(made, "BISON", "tests").text


def test_the_machine_is_named_and_several_are_not_to_be_compared() -> None:
    assert notes(charts(time_bars, "time")).endswith("Measured on NVIDIA H200.")
    first, *rest = of("time")
    other = replace(first, environment=replace(first.environment, device="a laptop"))
    assert "do not compare" in notes(charts(time_bars, "time", [other, *rest]))


def test_seeds_trained_together_are_said() -> None:
    shared = [replace(r, timing=replace(r.timing, seeds_at_once=10)) for r in of("time")]
    assert "10 seeds trained together" in notes(charts(time_bars, "time", shared))
    some = [*shared[:1], *of("time")[1:]]
    assert "up to 10 seeds trained together" in notes(charts(time_bars, "time", some)).lower()

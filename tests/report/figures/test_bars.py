"""Bars of AA, AF and AI: variants of BISON beside the paper's numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bison_ocl.report.figures.bars import metric_bars
from bison_ocl.report.figures.chart import Chart
from tests.report.figures.charted import charts, notes, of, percent, series


def by_measure(made: list[Chart], title: str) -> dict[str, Chart]:
    """The charts of a place, by measure."""
    return {one.x.label.split()[0]: one for one in made if one.title.startswith(title)}


def paper(made: Chart) -> dict[str, float]:
    """The paper's numbers by the row they stand in."""
    return {made.y.names[int(s.y[0])]: s.x[0] for s in made.series if s.name == "paper"}


def test_directions_of_both_datasets() -> None:
    made = charts(metric_bars, "directions")
    assert len(made) == 6
    cifar10 = by_measure(made, "Split CIFAR-10,")
    found = [
        r
        for r in of("directions")
        if r.data == "split-cifar10" and r.settings.get("pal") == "sb"
        if r.settings["paf"] == "bs"
    ]
    for metric, chart in cifar10.items():
        assert sorted(chart.y.names) == ["(bs, bs)", "(bs, sb)", "(sb, bs)", "(sb, sb)"]
        bar = series(chart, "(sb, bs)")
        assert bar.kind == "bar"
        assert bar.x[0] == pytest.approx(percent(found, metric).mean())
        assert chart.y.names[int(bar.y[0])] == "(sb, bs)"
    numbers = [paper(cifar10[metric]) for metric in ("AA", "AF_table", "AI")]
    assert numbers == [{"(bs, sb)": 58.0}, {"(bs, sb)": 15.4}, {"(bs, sb)": 12.8}]  # BISON itself


def test_bars_are_in_the_order_of_the_plan_whichever_run_ended_first() -> None:
    ended = sorted(of("ablation"), key=lambda r: (r.settings.get("paf") == "sb", r.seed))
    for made in charts(metric_bars, "ablation", ended):
        names = ["BISON", "w/o PAF", "w/o PAL", "w/o PAF & PAL", "w/o DC & PAF", "w/o all"]
        assert made.y.names == names


def test_error_bars_are_the_deviation_over_seeds() -> None:
    made = by_measure(charts(metric_bars, "directions", of("directions", 3)), "Split CIFAR-10,")
    found = [
        r
        for r in of("directions", 3)
        if r.data == "split-cifar10" and r.method == "bison"
        if (r.settings["pal"], r.settings["paf"]) == ("bs", "sb")
    ]
    bar = series(made["AA"], "(bs, sb)")
    assert bar.x_error[0] == pytest.approx(percent(found, "AA").std(ddof=1))
    assert bar.hover[0].endswith("%, 3 runs")


def test_the_ablation_beside_its_own_table() -> None:
    made = by_measure(charts(metric_bars, "ablation"), "Split")
    assert list(made) == ["AA", "AF_table", "AI"]
    found = {number for chart in made.values() for number in paper(chart).values()}
    assert {24.2, 23.4, 22.5, 22.6, 18.1, 18.9, 10.0, 14.8} <= found
    assert "dual classifiers" in notes(list(made.values()))


def test_without_references_ai_is_left_out() -> None:
    alone = [
        replace(r, metrics=replace(r.metrics, AI=None))
        for r in of("ablation")
        if r.method == "bison"
    ]
    assert list(by_measure(charts(metric_bars, "ablation", alone), "Split")) == ["AA", "AF_table"]

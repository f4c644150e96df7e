"""Bars of AA, AF and AI: variants of BISON beside the paper's numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bison_ocl.report.figures.metric_bars import metric_bars
from tests.report.figures.drawn import legend_texts, of, panel, percent
from tests.report.figures.test_similar import bars


def test_directions_of_both_datasets() -> None:
    figure = metric_bars("directions", of("directions"))
    assert len(figure.axes) == 2
    axes = panel(figure, "Split CIFAR-10,")
    assert sorted(legend_texts(figure)) == ["(bs, bs)", "(bs, sb)", "(sb, bs)", "(sb, sb)", "paper"]
    found = [
        r
        for r in of("directions")
        if r.data == "split-cifar10" and r.settings.get("pal") == "sb"
        if r.settings["paf"] == "bs"
    ]
    heights = [bar.get_height() for bar in bars(axes, "(sb, bs)").patches]
    wanted = [percent(found, metric).mean() for metric in ("AA", "AF_table", "AI")]
    np.testing.assert_allclose(heights, wanted)
    paper = [one.get_ydata()[0] for one in axes.get_lines() if one.get_label() == "_paper"]
    assert paper == [58.0, 15.4, 12.8]  # of (bs, sb), BISON itself


def test_error_bars_are_the_deviation_over_seeds() -> None:
    axes = panel(metric_bars("directions", of("directions", 3)), "Split CIFAR-10,")
    found = [
        r
        for r in of("directions", 3)
        if r.data == "split-cifar10" and r.method == "bison"
        if (r.settings["pal"], r.settings["paf"]) == ("bs", "sb")
    ]
    (ends,) = bars(axes, "(bs, sb)").errorbar[2]
    low, high = ends.get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(percent(found, "AA").std(ddof=1))


def test_the_ablation_beside_its_own_table() -> None:
    (axes,) = metric_bars("ablation", of("ablation")).axes
    paper = {
        round(one.get_ydata()[0], 1) for one in axes.get_lines() if one.get_label() == "_paper"
    }
    assert {24.2, 23.4, 22.5, 22.6, 18.1, 18.9, 10.0, 14.8} <= paper
    assert [text.get_text().split()[0] for text in axes.get_xticklabels()] == ["AA", "AF", "AI"]


def test_without_references_ai_is_left_out() -> None:
    alone = [
        replace(r, metrics=replace(r.metrics, AI=None))
        for r in of("ablation")
        if r.method == "bison"
    ]
    (axes,) = metric_bars("ablation", alone).axes
    assert [text.get_text().split()[0] for text in axes.get_xticklabels()] == ["AA", "AF"]

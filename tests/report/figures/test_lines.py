"""Buffer batch, α and η, losses, and accuracy beside the paper's: the records' numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bison_ocl.experiments.records.record import Losses
from bison_ocl.report.figures.accuracy import accuracy
from bison_ocl.report.figures.alpha_eta import alpha_eta
from bison_ocl.report.figures.chart import NotShown
from bison_ocl.report.figures.curves import losses
from bison_ocl.report.figures.sweeps import buffer_batch
from tests.report.figures.charted import (
    chart,
    charts,
    listed,
    notes,
    of,
    percent,
    records,
    series,
)


def test_buffer_batch_is_accuracy_over_its_size() -> None:
    made = chart(buffer_batch, "buffer-batch")
    drawn = series(made, "BISON")
    assert drawn.x == [10, 16, 32, 64, 100]
    of_64 = [r for r in of("buffer-batch") if r.settings["buffer_batch"] == 64]
    assert drawn.y[3] == pytest.approx(percent(of_64, "AA").mean())
    assert drawn.y_error[3] == pytest.approx(percent(of_64, "AA").std(ddof=1))
    paper = series(made, "BISON (paper)")
    assert (paper.x, paper.y) == ([10], [30.0])
    assert made.x.log
    assert made.guides[0].x == 32


def test_one_size_is_no_curve() -> None:
    with pytest.raises(NotShown, match="buffer batch"):
        charts(buffer_batch, "demo")


def test_alpha_and_eta_at_task_ends() -> None:
    made = charts(alpha_eta, "demo")
    alpha, eta = made
    found = records("demo", method="bison")
    for one, place, name in ((alpha, 0, "alpha"), (eta, 0, "eta_stream"), (eta, 1, "eta_buffer")):
        drawn = [line for line in one.series if line.name == "BISON"][place]
        values = np.array([[task[name] for task in r.log] for r in found], float)
        np.testing.assert_allclose(drawn.y, values.mean(0))
    assert alpha.y.limits == (0, 1)
    assert "stream (solid), buffer (dashed)" in eta.y.label
    assert listed(made) == ["BISON"]


def test_memories_are_told_apart() -> None:
    mini = [r for r in of("balance") if r.data == "split-miniimagenet"]
    assert listed(charts(alpha_eta, "balance", mini)) == ["BISON, M = 1k", "BISON, M = 2k"]


def test_a_diverged_run_leaves_a_gap() -> None:
    (found,) = records("demo", method="bison", seed=0)
    log = [{**task, "alpha": None} if place == 2 else task for place, task in enumerate(found.log)]
    alpha, _ = charts(alpha_eta, "demo", [replace(found, log=log)])
    assert np.isnan(series(alpha, "BISON").y).tolist() == [False, False, True, False, False]


def test_nothing_logged_no_figure() -> None:
    with pytest.raises(NotShown, match="logs"):
        charts(alpha_eta, "demo", records("demo", method="er"))


def test_losses_over_steps() -> None:
    drawn = series(chart(losses, "demo"), "ER")
    found = [r.losses for r in records("demo", method="er") if r.losses]
    assert drawn.x == found[0].steps
    np.testing.assert_allclose(drawn.y, np.mean([one.loss for one in found], axis=0))


def test_a_network_that_is_scored_twice_was_trained_once() -> None:
    made = charts(losses, "ncm")
    assert {"ER", "LODE"} <= set(listed(made))
    assert not [name for name in listed(made) if "NCM" in name]


def test_losses_of_a_diverged_run() -> None:
    (first, *_) = records("demo", method="er")
    made = chart(losses, "demo", [replace(first, losses=Losses([1, 2], [0.5, None]))])
    assert np.isnan(series(made, "ER").y[1])


def test_methods_that_recorded_no_loss_are_named() -> None:
    some = [replace(r, losses=None) if r.method == "er" else r for r in of("demo")]
    assert "No loss was recorded for ER." in notes(charts(losses, "demo", some))
    assert "No loss" not in notes(charts(losses, "demo"))


def test_losses_are_optional() -> None:
    with pytest.raises(NotShown, match="loss"):
        charts(losses, "demo", [replace(r, losses=None) for r in of("demo")])


def test_accuracy_beside_the_papers() -> None:
    made = chart(accuracy, "ncm", title="Split Mini-ImageNet")
    names = list(made.y.names)
    assert {"ER", "ER + NCM", "SCR", "BISON"} < set(names)
    paper = series(made, "M = 1k (paper)")
    rows = dict(zip(np.round(paper.y).astype(int), paper.x, strict=True))
    assert rows[names.index("ER + NCM")] == 18.9
    found = records("ncm", method="er + ncm", memory=1000, data="split-miniimagenet")
    ours = {round(one.y[0]): one for one in made.series if one.name == "M = 1k"}
    point = ours[names.index("ER + NCM")]
    assert point.x[0] == pytest.approx(percent(found, "AA").mean())
    assert point.x_error[0] == pytest.approx(percent(found, "AA").std(ddof=1))


def test_what_the_paper_only_quotes_is_there_too() -> None:
    item = "feature-enhancement"
    made = charts(accuracy, item)[0]
    assert "OCM" in made.y.names
    assert "BISON" in made.y.names  # 64 filters are no variant here
    assert not {r.method for r in of(item)} & {"ocm"}
    assert "Not run on Split CIFAR-100, natural: " in notes([made])


def test_a_method_that_ran_with_some_memory_sizes_only_is_noted() -> None:
    found = [r for r in of("ncm") if (r.method, r.memory) != ("pcr", 5000) and r.method != "scr"]
    assert "Not run on Split Mini-ImageNet: SCR; PCR with M = 5k." in notes(
        charts(accuracy, "ncm", found)
    )


def test_data_that_the_paper_does_not_use() -> None:
    made = chart(accuracy, "demo")
    assert made.y.names == ["ER", "BISON"]
    assert "Not run" not in notes([made])

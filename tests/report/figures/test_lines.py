"""Buffer batch, α and η, losses, and accuracy beside the paper's: the records' numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bison_ocl.experiments.records.record import Losses
from bison_ocl.report.figures.alpha_eta import alpha_eta
from bison_ocl.report.figures.beside_paper import beside_paper
from bison_ocl.report.figures.buffer_batch import buffer_batch
from bison_ocl.report.figures.losses import losses
from bison_ocl.report.figures.views import VIEWS
from bison_ocl.report.study.groups import NotShown
from tests.report.figures.drawn import legend_texts, line, of, panel, percent, records


def test_buffer_batch_is_accuracy_over_its_size() -> None:
    (axes,) = buffer_batch("buffer-batch", of("buffer-batch")).axes
    (drawn,) = [one for one in axes.containers if one.get_label() == "BISON"]
    np.testing.assert_array_equal(drawn.lines[0].get_xdata(), [10, 16, 32, 64, 100])
    of_64 = [r for r in of("buffer-batch") if r.settings["buffer_batch"] == 64]
    assert drawn.lines[0].get_ydata()[3] == pytest.approx(percent(of_64, "AA").mean())
    paper = line(axes, "BISON (paper)")
    assert (paper.get_xdata()[0], paper.get_ydata()[0]) == (10, 30.0)


def test_one_size_is_no_curve() -> None:
    with pytest.raises(NotShown, match="buffer batch"):
        buffer_batch("demo", of("demo"))


def test_alpha_and_eta_at_task_ends() -> None:
    figure = alpha_eta("demo", of("demo"))
    alpha, eta = figure.axes
    found = records("demo", method="bison")
    for axes, place, name in ((alpha, 0, "alpha"), (eta, 0, "eta_stream"), (eta, 1, "eta_buffer")):
        drawn = [one for one in axes.get_lines() if one.get_label() == "BISON"][place]
        values = [[task[name] for task in r.log] for r in found]
        np.testing.assert_allclose(drawn.get_ydata(), np.mean(values, axis=0))
    assert alpha.get_ylim() == (0, 1)
    assert "stream (solid), buffer (dashed)" in eta.get_ylabel()
    assert legend_texts(figure) == ["BISON"]


def test_memories_are_told_apart() -> None:
    figure = alpha_eta("balance", [r for r in of("balance") if r.data == "split-miniimagenet"])
    assert legend_texts(figure) == ["BISON, M = 1k", "BISON, M = 2k"]


def test_a_diverged_run_leaves_a_gap() -> None:
    found = records("demo", method="bison", seed=0)
    log = [
        {**task, "alpha": None} if place == 2 else task for place, task in enumerate(found[0].log)
    ]
    alpha = alpha_eta("demo", [replace(found[0], log=log)]).axes[0]
    assert np.isnan(line(alpha, "BISON").get_ydata()).tolist() == [False, False, True, False, False]


def test_nothing_logged_no_figure() -> None:
    with pytest.raises(NotShown, match="logs"):
        alpha_eta("demo", records("demo", method="er"))


def test_losses_over_steps() -> None:
    axes = panel(losses("demo", of("demo")), "Split")
    found = records("demo", method="er")
    drawn = line(axes, "ER")
    np.testing.assert_array_equal(drawn.get_xdata(), found[0].losses.steps)
    values = [r.losses.loss for r in found]
    np.testing.assert_allclose(drawn.get_ydata(), np.mean(values, axis=0))


def test_losses_of_a_diverged_run() -> None:
    (first, *_) = records("demo", method="er")
    (axes,) = losses("demo", [replace(first, losses=Losses([1, 2], [0.5, None]))]).axes
    assert np.isnan(line(axes, "ER").get_ydata()[1])


def test_losses_are_optional() -> None:
    with pytest.raises(NotShown, match="losses"):
        losses("demo", [replace(r, losses=None) for r in of("demo")])


def test_accuracy_beside_the_papers() -> None:
    axes = panel(VIEWS["ncm"]["beside-paper"]("ncm", of("ncm")), "Split Mini-ImageNet")
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert {"ER", "ER + NCM", "SCR", "BISON"} < set(names)
    paper = line(axes, "M = 1k (paper)")
    rows = dict(zip(np.round(paper.get_ydata()).astype(int), paper.get_xdata(), strict=True))
    assert rows[names.index("ER + NCM")] == 18.9
    ours = [one.lines[0] for one in axes.containers]
    means = {round(one.get_xdata()[0], 6) for one in ours}
    wanted = percent(records("ncm", method="er + ncm", memory=1000), "AA").mean()
    assert round(wanted, 6) in means


def test_what_the_paper_only_quotes_is_there_too() -> None:
    item = "feature-enhancement"
    axes = VIEWS[item]["beside-paper"](item, of(item)).axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert "OCM" in names
    assert "BISON" in names  # 64 filters are no variant here
    assert not {r.method for r in of("feature-enhancement")} & {"ocm"}


def test_data_that_the_paper_does_not_use() -> None:
    (axes,) = beside_paper("demo", of("demo")).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["ER", "BISON"]

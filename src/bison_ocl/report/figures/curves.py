"""Curves over the stream: accuracy after each task, with the paper's (Fig. A1), and loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bison_ocl.experiments.records.record import Losses
from bison_ocl.report.figures.chart import Axis, Chart, Guide, NotShown, Series
from bison_ocl.report.figures.panels import Panel, panels, series
from bison_ocl.report.study.experiments import Experiment, Floats, by_own_rule
from bison_ocl.report.study.measures import plus_minus

MOST_BANDS = 5
"""with more lines than this, bands hide each other"""
BANDS = "Bands: one standard deviation over runs."
ABREAST = 3
"""the paper's markers in a row, so that close ones do not overlap"""
MOST_TICKS = 12


def curve(one: Experiment, values: Floats, decimals: int = 1, **changes: Any) -> Series:
    """The mean over seeds of values [seeds, T], with its standard deviation."""
    mean, several = values.mean(0), len(values) > 1
    error = values.std(0, ddof=1).tolist() if several else []
    pairs = zip(mean, error or [None] * len(mean), strict=True)
    hover = [plus_minus(m, s, decimals) for m, s in pairs]
    tasks, look = np.arange(1, len(mean) + 1).tolist(), replace(one.look, **changes)
    return series(one, tasks, mean.tolist(), "curve", look=look, y_error=error, hover=hover)


def over_tasks(
    title: str, drawn: Sequence[Series], y: Axis, about: str, *notes: str, **others: Any
) -> Chart:
    """A chart of curves over the tasks. others: more fields of the chart."""
    tasks = max(len(one.x) for one in drawn)
    x = Axis("tasks learned", ticks=list(range(1, tasks + 1, -(-tasks // MOST_TICKS))))
    return Chart(title, x, y, drawn, notes=[about, *bands(drawn), *notes], **others)


def bands(drawn: Sequence[Series]) -> list[str]:
    """The note on bands, where lines are few enough to have them."""
    curves = [one for one in drawn if one.kind == "curve"]
    return [BANDS] * (len(curves) <= MOST_BANDS and any(one.y_error for one in curves))


# --- accuracy ---


def curves(experiments: Sequence[Experiment]) -> list[Chart]:
    """Average accuracy, one line per method; at the right, the paper's."""
    return [accuracy(panel) for panel in panels(experiments)]


def accuracy(panel: Panel) -> Chart:
    drawn = [curve(one, one.curves()) for one in panel.lines]
    tasks = max(len(one.x) for one in drawn)
    paper = at_the_end(panel, tasks)
    return over_tasks(
        panel.title,
        [*drawn, *paper],
        Axis("average accuracy (%)", limits=(0, None)),
        "Over the tasks learned so far, mean over runs.",
        *["Hollow, at the right: the paper's accuracy after the last task."] * bool(paper),
        scale=panel.place.data,
        guides=[Guide(x=(tasks + one.x[0]) / 2, text="paper", at_top=True) for one in paper[:1]],
    )


def at_the_end(panel: Panel, tasks: int) -> list[Series]:
    """Hollow markers beyond the last task: the paper's accuracy at the end."""
    numbers = [(one.printed("AA"), one) for one in panel.lines]
    known = [(number, one) for number, one in numbers if number is not None]
    start, step = tasks + max(0.5, 0.08 * tasks), 0.035 * tasks
    return [
        series(
            *(one, [start + place % ABREAST * step], [number], "points"),
            name=f"{one.title} (paper)",
            look=replace(one.look, hollow=True),
            hover=[plus_minus(number, None)],
            listed=False,
        )
        for place, (number, one) in enumerate(sorted(known, key=lambda pair: pair[0]))
    ]


# --- loss ---


def losses(experiments: Sequence[Experiment]) -> list[Chart]:
    """Training loss, one line per method that recorded it; a note names the others."""
    made = [chart for panel in panels(by_own_rule(experiments)) if (chart := loss(panel)).series]
    if not made:
        raise NotShown("no run recorded a loss")
    return made


def loss(panel: Panel) -> Chart:
    known = [(one, kept) for one in panel.lines if (kept := recorded(one))]
    drawn = [
        replace(curve(one, in_numbers(kept), 3, marker="", width=1.0), x=kept[0].steps, hover=())
        for one, kept in known
    ]
    without = [one.title for one in panel.lines if not recorded(one)]
    missing = [f"No loss was recorded for {', '.join(without)}."] if without else []
    levels = "Mean over runs. Methods minimise different functions: compare shapes, not levels."
    notes = [levels, *bands(drawn), *missing]
    return Chart(panel.title, Axis("steps"), Axis("loss"), drawn, notes=notes)


def recorded(one: Experiment) -> list[Losses]:
    """The losses of the seeds that were measured at the same steps as the first.

    A method that does not train on the stream records zeros, which are no loss.
    """
    found = [record.losses for record in one.records if record.losses and any(record.losses.loss)]
    return [other for other in found if other.steps == found[0].steps]


def in_numbers(kept: Sequence[Losses]) -> Floats:
    return np.array([one.loss for one in kept], np.float64)  # None, once diverged, becomes NaN

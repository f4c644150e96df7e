"""Wall time of a run, training and tests, and how many times ER's (paper, Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bison_ocl.look import BLUE, ORANGE
from bison_ocl.report.figures.drawing.grid import grid, note
from bison_ocl.report.figures.drawing.panels import Panel, panels
from bison_ocl.report.figures.drawing.style import common_look
from bison_ocl.report.study.entry import Entry, own
from bison_ocl.report.study.groups import Floats, Group, NotShown, compared, deviation, mean
from bison_ocl.report.study.labels import label_of
from bison_ocl.report.tables.cost import BASELINE, hardware

DEVIATION = "Thin lines: one standard deviation of the whole run."
PARTS = {"train_s": ("training", BLUE), "test_s": ("tests", ORANGE)}


@common_look()
def time_bars(item: str, records: Sequence[Entry]) -> Figure:
    """One panel a stream and memory, one bar a method, the fastest on top."""
    once = own(compared(records))  # one network, one time
    if not once:
        raise NotShown("no times in the records")
    shown = panels(once, label_of(item))
    most = max(len(panel.lines) for panel in shown)
    figure, places = grid(len(shown), width=5.4, height=1.2 + 0.27 * most)
    for panel, axes in zip(shown, places, strict=True):
        draw(axes, panel)
    figure.legend(*places[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    note(figure, DEVIATION, *(f"{said[:1].upper()}{said[1:]}." for said in hardware(once)))
    return figure


def draw(axes: Axes, panel: Panel) -> None:
    lines = sorted(panel.lines, key=lambda line: seconds(line.group).sum())
    times = np.array([seconds(line.group) for line in lines])
    start = np.zeros(len(lines))
    for part, (name, colour) in enumerate(PARTS.values()):
        axes.barh(range(len(lines)), times[:, part], 0.7, start, color=colour, label=name)
        start = start + times[:, part]
    spread = np.array([float(deviation(totals(line.group))) for line in lines])
    if spread.any():
        axes.errorbar(start, range(len(lines)), xerr=spread, fmt="none", ecolor="#444444", lw=0.9)
    names = [line.label.printed for line in lines]
    base = [start[names.index(BASELINE)]] if BASELINE in names else []
    for place, (total, std) in enumerate(zip(start, spread, strict=True)):
        ratio = f"  × {total / base[0]:.2f}" if base else ""
        axes.text(total + std, place, f" {total:.3g} s{ratio}", va="center", fontsize=8)
    axes.set_yticks(range(len(lines)), [line.title for line in lines])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.35 * max(start + spread))
    beside = ", × beside ER" if base else ""
    axes.set(xlabel=f"seconds a run{beside}", title=panel.title)
    axes.grid(axis="x")


def seconds(group: Group) -> Floats:
    """Of training and of tests, mean over seeds [2]."""
    return mean(np.array([[getattr(r.timing, part) for part in PARTS] for r in group.records]))


def totals(group: Group) -> Floats:
    """Of each run [seeds]."""
    return np.array([sum(getattr(r.timing, part) for part in PARTS) for r in group.records])

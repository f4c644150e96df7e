"""AA, AF and AI of each line as bars, the paper's numbers across."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bison_ocl.experiments.records import Record
from bison_ocl.report.build import LabelOf
from bison_ocl.report.figures.bars import Bar, bar_legend, beside
from bison_ocl.report.figures.grid import grid
from bison_ocl.report.figures.groups import compared
from bison_ocl.report.figures.panels import Line, panels
from bison_ocl.report.figures.printed import printed

METRICS = {"AA": "AA ↑", "AF_table": "AF ↓\n(as in the paper's tables)", "AI": "AI ↓"}


def metric_bars(records: Sequence[Record], label_of: LabelOf, item: str) -> Figure:
    """One panel a stream and memory; `item` is where the paper prints the numbers."""
    shown = panels(compared(records), label_of)
    figure, places = grid(len(shown), width=5.8, height=3.9)
    bars: list[Bar] = []
    for panel, axes in zip(shown, places, strict=True):
        names = [name for name in METRICS if all(group.has(name) for group in panel.groups)]
        drawn = [bar(line, names, item) for line in panel.lines]
        beside(axes, drawn)
        axes.set_xticks(range(len(names)), [METRICS[name] for name in names])
        axes.set(ylabel="%", title=panel.title)
        bars += drawn
    bar_legend(figure, places[0], bars)
    return figure


def bar(line: Line, names: Sequence[str], item: str) -> Bar:
    values = np.stack([line.group.percent(name) for name in names], axis=1)
    return Bar(line.title, line.look, values, [printed(line, name, item) for name in names])

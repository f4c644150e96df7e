"""AA, AF and AI of each line as bars, the paper's numbers across (paper, Table 2 and Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from bison_ocl.report.figures.drawing.bars import Bar, bar_legend, beside
from bison_ocl.report.figures.drawing.grid import AF_CONVENTION, THIN, grid, note
from bison_ocl.report.figures.drawing.panels import Line, panels
from bison_ocl.report.figures.drawing.style import common_look
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import compared
from bison_ocl.report.study.labels import label_of

METRICS = {"AA": "AA ↑", "AF_table": "AF ↓", "AI": "AI ↓"}
MEANINGS = {
    "ablation": "DC: dual classifiers; PAL: proxy-anchor loss; PAF: proxy alignment feedback.",
    "directions": "(PAL, PAF); bs: from buffer to stream; sb: from stream to buffer.",
}


@common_look()
def metric_bars(item: str, records: Sequence[Entry]) -> Figure:
    """One panel a stream and memory."""
    shown = panels(compared(records), label_of(item))
    figure, places = grid(len(shown), width=5.8, height=3.9)
    bars: list[Bar] = []
    for panel, axes in zip(shown, places, strict=True):
        names = [name for name in METRICS if all(group.has(name) for group in panel.groups)]
        drawn = [bar(item, line, names) for line in panel.lines]
        beside(axes, drawn)
        axes.set_xticks(range(len(names)), [METRICS[name] for name in names])
        axes.set(ylabel="%", title=panel.title)
        bars += drawn
    bar_legend(figure, places[0], bars)
    note(figure, MEANINGS.get(item, ""), AF_CONVENTION, THIN)
    return figure


def bar(item: str, line: Line, names: Sequence[str]) -> Bar:
    values = np.stack([line.group.percent(name) for name in names], axis=1)
    return Bar(line.title, line.look, values, [line.printed(item, name) for name in names])

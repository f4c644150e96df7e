"""Accuracy over the size of the buffer batch (paper, Fig. A3)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from bison_ocl.look import GREY
from bison_ocl.report.figures.drawing.grid import THIN, grid, note
from bison_ocl.report.figures.drawing.panels import Line, Panel, panels
from bison_ocl.report.figures.drawing.style import common_look, look, plotted
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import NotShown, compared, deviation
from bison_ocl.report.study.labels import labelled
from bison_ocl.report.study.names import method_name

FLAT = 32
"""beyond this size the paper sees little gain"""


@common_look()
def buffer_batch(item: str, records: Sequence[Entry]) -> Figure:
    """One panel a stream and memory; AA with its deviation at each size, and the paper's."""
    sized = [record for record in compared(records) if "buffer_batch" in record.settings]
    shown = [
        panel for panel in panels(sized, labelled) if len({size(line) for line in panel.lines}) > 1
    ]
    if not shown:
        raise NotShown("no runs with more than one size of the buffer batch")
    figure, places = grid(len(shown), width=5.2)
    for panel, axes in zip(shown, places, strict=True):
        draw(axes, item, panel)
    note(figure, THIN)
    return figure


def size(line: Line) -> int:
    return int(line.group.first.settings["buffer_batch"])


def draw(axes: Axes, item: str, panel: Panel) -> None:
    for method in dict.fromkeys(line.group.method for line in panel.lines):
        lines = sorted((line for line in panel.lines if line.group.method == method), key=size)
        sizes = [size(line) for line in lines]
        values = [line.group.percent("AA") for line in lines]
        means, spread = [v.mean() for v in values], [float(deviation(v)) for v in values]
        drawn = plotted(look(method))
        name = method_name(method)
        axes.errorbar(sizes, means, spread, label=name, elinewidth=1, **drawn)
        for line in lines:
            if (number := line.printed(item, "AA")) is not None:
                hollow = drawn | {"linestyle": "", "markerfacecolor": "white", "zorder": 5}
                axes.plot([size(line)], [number], label=f"{line.title} (paper)", **hollow)
    axes.axvline(FLAT, color=GREY, linestyle=":", linewidth=1)
    bottom, said = axes.get_xaxis_transform(), f" paper: little gain beyond {FLAT}"
    axes.text(FLAT, 0.03, said, transform=bottom, fontsize=8, color=GREY)
    axes.set_xscale("log", base=2)
    ticks = sorted({size(line) for line in panel.lines})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel="images of the memory in a step", ylabel="AA (%)", title=panel.title)
    axes.margins(y=0.2)
    axes.grid(axis="y")
    handles, titles = axes.get_legend_handles_labels()
    by_name = sorted(zip(titles, handles, strict=True), key=lambda pair: pair[0])
    axes.legend(handles=[handle for _, handle in by_name], loc="upper left")

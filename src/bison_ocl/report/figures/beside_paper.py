"""Accuracy of every method at every memory size, ours beside the paper's (Tables 1, 3 and A3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bison_ocl.experiments.records import Record
from bison_ocl.report.build import LabelOf, labelled
from bison_ocl.report.figures.grid import grid
from bison_ocl.report.figures.groups import compared, deviation
from bison_ocl.report.figures.panels import Panel, panels, seeds
from bison_ocl.report.figures.printed import printed, quoted
from bison_ocl.report.figures.style import GREY, PALETTE, common_look
from bison_ocl.report.names import memory_name, stream_name

NOTE = "Filled: ours ± one standard deviation. Hollow: the paper's."


@common_look()
def beside_paper(
    records: Sequence[Record], item: str = "table1", label_of: LabelOf = labelled
) -> Figure:
    """One panel a stream, one row a method, one colour a memory size; `item` says which table."""
    streams: dict[tuple[str, ...], list[Panel]] = {}
    for panel in panels(compared(records), label_of):
        streams.setdefault(panel.place[:3], []).append(panel)
    rows = [names(members, item) for members in streams.values()]
    figure, places = grid(len(streams), width=5.2, height=1.5 + 0.3 * max(map(len, rows)))
    for members, titles, axes in zip(streams.values(), rows, places, strict=True):
        draw(axes, members, titles, item)
    figure.supxlabel(NOTE, fontsize=8, color=GREY)
    return figure


def names(members: Sequence[Panel], item: str) -> list[str]:
    """The rows: what was run, and what the paper has besides."""
    ours = [line.title for panel in members for line in panel.lines]
    paper = [title for panel in members for title in quoted(panel.place, item)]
    return list(dict.fromkeys([*ours, *paper]))


def draw(axes: Axes, members: Sequence[Panel], titles: Sequence[str], item: str) -> None:
    for number, panel in enumerate(members):
        shift = 0.22 * (number - (len(members) - 1) / 2)
        rows = {title: row + shift for row, title in enumerate(titles)}
        look: dict[str, Any] = {"color": colour(number), "linestyle": "", "markersize": 5}
        points(axes, panel, rows, item, look)
    axes.set_yticks(range(len(titles)), titles)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    groups = [group for panel in members for group in panel.groups]
    axes.set(xlabel="AA (%)", title=f"{stream_name(groups[0].first)}, {seeds(groups)}")
    axes.grid()
    keys = [
        Line2D([], [], color=colour(number), marker="o", ls="", label=memory_name(panel.memory))
        for number, panel in enumerate(members)
    ]
    axes.legend(handles=keys, loc="lower left", frameon=True, framealpha=0.85, edgecolor="none")


def colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def points(
    axes: Axes, panel: Panel, rows: Mapping[str, float], item: str, look: Mapping[str, Any]
) -> None:
    """Of one memory size: ours with their deviation, then the paper's."""
    paper = quoted(panel.place, item)
    for line in panel.lines:
        values = line.group.percent("AA")
        spread = float(deviation(values))
        axes.errorbar(
            values.mean(), rows[line.title], xerr=spread, marker="o", elinewidth=1, **look
        )
        paper[line.title] = printed(line, "AA", item)
    known = {title: value for title, value in paper.items() if value is not None}
    axes.plot(
        list(known.values()),
        [rows[title] for title in known],
        marker="D",
        markerfacecolor="white",
        label=f"{memory_name(panel.memory)} (paper)",
        **look,
    )

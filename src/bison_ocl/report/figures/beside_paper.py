"""Accuracy of every method at every memory size, ours beside the paper's (Tables 1, 3 and A3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.look import PALETTE
from bison_ocl.report.figures.drawing.grid import grid, note
from bison_ocl.report.figures.drawing.panels import Panel, panels, seeds
from bison_ocl.report.figures.drawing.style import common_look
from bison_ocl.report.study import paper
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import compared, deviation
from bison_ocl.report.study.labels import label_of
from bison_ocl.report.study.names import memory_name, method_name, stream_name
from bison_ocl.report.study.places import Place

NOTE = "Filled: ours ± one standard deviation. Hollow: the paper's."


@common_look()
def beside_paper(item: str, records: Sequence[Entry]) -> Figure:
    """One panel a stream, one row a method, one colour a memory size."""
    streams: dict[tuple[str, ...], list[Panel]] = {}
    for panel in panels(compared(records), label_of(item)):
        streams.setdefault(panel.place[:3], []).append(panel)
    rows = [names(item, members) for members in streams.values()]
    figure, places = grid(len(streams), width=5.2, height=1.5 + 0.3 * max(map(len, rows)))
    for members, titles, axes in zip(streams.values(), rows, places, strict=True):
        draw(axes, item, members, titles)
    note(figure, NOTE)
    return figure


def names(item: str, members: Sequence[Panel]) -> list[str]:
    """The rows: what was run, and what the paper has besides."""
    ours = [line.title for panel in members for line in panel.lines]
    theirs = [title for panel in members for title in quoted(item, panel.place)]
    return list(dict.fromkeys([*ours, *theirs]))


def quoted(item: str, place: Place) -> dict[str, float]:
    """All that the paper prints of AA at a place, by the names of the methods."""
    table = paper.source(item, "AA")
    found = {
        name: paper.printed(table, "AA", name, place)
        for name in paper.lines(table, "AA", place[0])
        if name != REFERENCE
    }
    return {method_name(name): number.mean for name, number in found.items() if number}


def draw(axes: Axes, item: str, members: Sequence[Panel], titles: Sequence[str]) -> None:
    for number, panel in enumerate(members):
        shift = 0.22 * (number - (len(members) - 1) / 2)
        rows = {title: row + shift for row, title in enumerate(titles)}
        look: dict[str, Any] = {"color": colour(number), "linestyle": "", "markersize": 5}
        points(axes, item, panel, rows, look)
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
    axes: Axes, item: str, panel: Panel, rows: Mapping[str, float], look: Mapping[str, Any]
) -> None:
    """Of one memory size: ours with their deviation, then the paper's."""
    known = quoted(item, panel.place)
    for line in panel.lines:
        values = line.group.percent("AA")
        spread = float(deviation(values))
        axes.errorbar(
            values.mean(), rows[line.title], xerr=spread, marker="o", elinewidth=1, **look
        )
        if (number := line.printed(item, "AA")) is not None:
            known[line.title] = number
    axes.plot(
        list(known.values()),
        [rows[title] for title in known],
        marker="D",
        markerfacecolor="white",
        label=f"{memory_name(panel.memory)} (paper)",
        **look,
    )

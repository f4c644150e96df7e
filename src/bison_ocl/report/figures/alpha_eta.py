"""What methods log at task ends: the separation α and the scales η of their classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bison_ocl.report.figures.curves import count_tasks, draw
from bison_ocl.report.figures.drawing.grid import DEVIATION, grid, legend, note
from bison_ocl.report.figures.drawing.panels import Line, panels, place_title, seeds
from bison_ocl.report.figures.drawing.style import common_look
from bison_ocl.report.study.entry import Entry, own
from bison_ocl.report.study.groups import Floats, Group, NotShown
from bison_ocl.report.study.labels import LabelOf, label_of
from bison_ocl.report.study.names import memory_name, stream_name
from bison_ocl.report.study.places import place_of
from bison_ocl.report.tables.cells import Label

AXES = {"alpha": "α (0: strongest separation)", "eta": "η: scale of the classifiers"}
NOTE = "At the end of each task, mean over runs."
START = "Dotted: α = 0.5, where every task starts."


@common_look()
def alpha_eta(item: str, records: Sequence[Entry]) -> Figure:
    """For each stream a panel of α and one of η, one line an experiment."""
    logged = [record for record in own(records) if logs(record)]
    shown = [
        (lines, kind, names)
        for lines in streams(logged, label_of(item))
        for kind in AXES
        if (names := [name for name in logs(lines[0].group.first) if name.startswith(kind)])
    ]
    if not shown:
        raise NotShown("no run logs α or η")
    figure, places = grid(len(shown), columns=2, width=5.2, height=3.2)
    for (lines, kind, names), axes in zip(shown, places, strict=True):
        for line in lines:
            for dashes, name in zip(("-", "--", ":"), names, strict=False):
                if name in logs(line.group.first):
                    draw(axes, line, values(line.group, name), linestyle=dashes)
        describe(axes, lines, kind, names)
    legend(figure, (line for lines, _, _ in shown for line in lines))
    note(figure, NOTE, DEVIATION, START * any(kind == "alpha" for _, kind, _ in shown))
    return figure


def logs(record: Entry) -> list[str]:
    """The names of what a run logs; those of the last task are those of all."""
    return list((record.log or [{}])[-1])


def streams(records: Sequence[Entry], named: LabelOf) -> list[list[Line]]:
    """The experiments of each stream; where it has several memories, titles say which."""
    found: dict[tuple[str, ...], list[Line]] = {}
    memories = {(*place_of(record)[:3], record.memory) for record in records}
    several = len(memories) > len({memory[:3] for memory in memories})
    for panel in panels(records, partial(with_memory, named) if several else named):
        found.setdefault(panel.place[:3], []).extend(panel.lines)
    return list(found.values())


def with_memory(named: LabelOf, record: Entry) -> Label:
    """`BISON, M = 1k`."""
    return Label(f"{named(record).text}, {memory_name(record.memory)}")


def values(group: Group, name: str) -> Floats:
    """[seeds, T]; NaN once training has diverged."""
    found = [[entry.get(name) for entry in record.log] for record in group.records]
    return np.array(found, np.float64)


def describe(axes: Axes, lines: Sequence[Line], kind: str, names: Sequence[str]) -> None:
    first = lines[0].group.first
    count_tasks(axes, len(first.log))
    heads = [name.removeprefix("eta_") for name in names]
    drawn = zip(("solid", "dashed", "dotted"), heads, strict=False)
    of = ", ".join(f"{head} ({dashes})" for dashes, head in drawn) if len(names) > 1 else ""
    axes.set_ylabel(AXES[kind] + (f"\n{of}" if of else ""))
    groups = [line.group for line in lines]
    alone = len({group.first.memory for group in groups}) == 1
    where = place_title(groups[0]) if alone else stream_name(first)
    axes.set_title(f"{where}, {seeds(groups)}")
    if kind == "alpha":
        axes.set_ylim(0, 1)
        axes.axhline(0.5, color="#999999", linestyle=":", linewidth=1)

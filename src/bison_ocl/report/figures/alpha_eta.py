"""What methods log at task ends: the separation α and the scales η of their classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bison_ocl.report.figures.chart import Axis, Chart, Guide, NotShown, Series
from bison_ocl.report.figures.curves import bands, curve, task_ticks
from bison_ocl.report.figures.panels import Line, Panel, having, own, seeds, stream_title
from bison_ocl.report.study.names import memory_name

AXES = {"alpha": "α (0: strongest separation)", "eta": "η: scale of the classifiers"}
DASHES = {"-": "solid", "--": "dashed", ":": "dotted"}
NOTE = "At the end of each task, mean over runs."
START = "Dotted: α = 0.5, where every task starts."


def alpha_eta(panels: Sequence[Panel]) -> list[Chart]:
    """For each stream a chart of α and one of η, one line per experiment."""
    streams: dict[tuple[str, ...], list[Panel]] = {}
    for panel in having(own(panels), lambda record: record.log and record.log[-1]):
        streams.setdefault(panel.place.stream_of, []).append(panel)
    found = [chart(members, kind) for members in streams.values() for kind in AXES]
    shown = [chart for chart in found if chart.series]
    if not shown:
        raise NotShown("no run logs α or η")
    return shown


def chart(members: Sequence[Panel], kind: str) -> Chart:
    """Of one stream; where there are several memories, the names of lines say which."""
    logs = [line.group.first.log[-1] for panel in members for line in panel.lines]
    names = list(dict.fromkeys(name for log in logs for name in log if name.startswith(kind)))
    drawn = [
        series(line, name, dashes, f", {memory}" * (len(members) > 1), listed=name == names[0])
        for name, dashes in zip(names, DASHES, strict=False)
        for panel in members
        for memory in [memory_name(panel.place.memory)]
        for line in panel.lines
        if name in line.group.first.log[-1]
    ]
    heads = zip(names, DASHES.values(), strict=False)
    of = ", ".join(f"{name.removeprefix('eta_')} ({dashes})" for name, dashes in heads)
    alpha = kind == "alpha"
    title = f"{stream_title(members[0])}, {seeds(members)}" if members[1:] else members[0].title
    return Chart(
        title,
        Axis("tasks learned", ticks=task_ticks(len(members[0].lines[0].group.first.log))),
        Axis(AXES[kind] + f"\n{of}" * (len(names) > 1), limits=(0, 1) if alpha else (None, None)),
        drawn,
        guides=[Guide(y=0.5, dashes=":")] * alpha,
        notes=[NOTE, *bands(drawn), *[START] * alpha],
    )


def series(line: Line, name: str, dashes: str, memory: str, listed: bool) -> Series:
    """What an experiment logs under a name, NaN once training has diverged."""
    found = [[entry.get(name) for entry in record.log] for record in line.group.records]
    drawn = curve(line, np.array(found, np.float64), 3, dashes=dashes)
    return replace(drawn, name=line.title + memory, listed=listed)

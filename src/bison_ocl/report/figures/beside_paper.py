"""Accuracy of every method at every memory size, ours beside the paper's (Tables 1, 3 and A3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.look import PALETTE, Look
from bison_ocl.report.figures.chart import Axis, Chart, Series
from bison_ocl.report.figures.panels import Line, Panel, compared, seeds, stream_title
from bison_ocl.report.study import paper
from bison_ocl.report.study.measures import AA
from bison_ocl.report.study.names import memory_name, method_name
from bison_ocl.report.study.places import Place

NOTE = "Filled: ours ± one standard deviation. Hollow: the paper's."
QUOTED = "Rows without a filled point were not run."
APART = 0.22
"""between the memory sizes of a row"""


def beside_paper(panels: Sequence[Panel]) -> list[Chart]:
    """One chart per stream, one row per method, one colour per memory size."""
    streams: dict[tuple[str, ...], list[Panel]] = {}
    for panel in compared(panels):
        streams.setdefault(panel.place.stream_of, []).append(panel)
    return [chart(members) for members in streams.values()]


def chart(members: Sequence[Panel]) -> Chart:
    ours = [line.title for panel in members for line in panel.lines]
    theirs = [title for panel in members for title in quoted(panel.item, panel.place)]
    rows = list(dict.fromkeys([*ours, *theirs]))
    return Chart(
        f"{stream_title(members[0])}, {seeds(members)}",
        Axis("AA (%)", limits=(0, None)),
        Axis(names=rows),
        [one for number in range(len(members)) for one in points(members, number, rows)],
        notes=[NOTE, *[QUOTED] * (not set(theirs) <= set(ours))],
    )


def quoted(item: str, place: Place) -> dict[str, float]:
    """All that the paper prints of AA at a place, by the names of the methods."""
    table = paper.source(item, "AA")
    found = {
        name: paper.printed(table, "AA", name, place)
        for name in paper.lines(table, "AA", place.data)
        if name != REFERENCE
    }
    return {method_name(name): number.mean for name, number in found.items() if number}


def points(members: Sequence[Panel], number: int, rows: Sequence[str]) -> list[Series]:
    """Of one memory size: ours with their deviation, then the paper's."""
    panel, look = members[number], Look(PALETTE[number % len(PALETTE)], "o")
    name = memory_name(panel.place.memory)
    shift = APART * (number - (len(members) - 1) / 2)
    at = {title: row + shift for row, title in enumerate(rows)}
    known = quoted(panel.item, panel.place) | {
        line.title: printed
        for line in panel.lines
        if (printed := line.printed(panel.item, AA.name)) is not None
    }
    hollow = replace(look, marker="D", hollow=True)
    heights = [at[title] for title in known]
    theirs = Series(
        f"{name} (paper)", hollow, list(known.values()), heights, "points", listed=False
    )
    return [*(point(line, name, look, at[line.title]) for line in panel.lines), theirs]


def point(line: Line, name: str, look: Look, y: float) -> Series:
    over = line.group.over(AA.of)
    return Series(name, look, [over.mean], [y], "points", x_error=[over.std or 0])

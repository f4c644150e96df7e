"""Accuracy of every method at every memory size, ours beside the paper's (Tables 1, 3 and A3)."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.look import PALETTE, Look
from bison_ocl.report.figures.chart import Axis, Chart, Series
from bison_ocl.report.figures.panels import Panel, compared, seeds, stream_title
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
    sizes = sorted({panel.place.memory for panel in panels})
    return [chart(members, sizes) for members in streams.values()]


def chart(members: Sequence[Panel], sizes: Sequence[int]) -> Chart:
    ours = [line.title for panel in members for line in panel.lines]
    theirs = [title for panel in members for title in quoted(panel.item, panel.place)]
    rows = list(dict.fromkeys([*ours, *theirs]))
    return Chart(
        f"{stream_title(members[0])}, {seeds(members)}",
        Axis("AA (%)", limits=(0, None)),
        Axis(names=rows),
        [
            one
            for number, panel in enumerate(members)
            for colour in [PALETTE[sizes.index(panel.place.memory) % len(PALETTE)]]
            for one in points(panel, rows, APART * (number - (len(members) - 1) / 2), colour)
        ],
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


def points(panel: Panel, rows: Sequence[str], shift: float, colour: str) -> list[Series]:
    """Of one memory size: ours with their deviation, then the paper's."""
    name, ours = memory_name(panel.place.memory), Look(colour, "o")
    known = quoted(panel.item, panel.place)
    found = []
    for line in panel.lines:
        over, y = line.group.over(AA.of), rows.index(line.title) + shift
        found.append(Series(name, ours, [over.mean], [y], "points", x_error=[over.std or 0]))
        if (printed := line.printed(panel.item, AA.name)) is not None:
            known[line.title] = printed
    at = [rows.index(title) + shift for title in known]
    theirs, hollow = list(known.values()), Look(colour, "D", hollow=True)
    return [*found, Series(f"{name} (paper)", hollow, theirs, at, "points", listed=False)]

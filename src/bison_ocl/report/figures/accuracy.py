"""Accuracy of every method at every memory size, ours and the paper's (Tables 1, 3 and A3)."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.look import PALETTE, Look
from bison_ocl.report.figures.chart import Axis, Chart, Series
from bison_ocl.report.figures.panels import Panel, panels
from bison_ocl.report.study import paper
from bison_ocl.report.study.experiments import Experiment, compared
from bison_ocl.report.study.measures import AA
from bison_ocl.report.study.names import memory_name, method_name, name_of

NOTE = "Filled: ours ± one standard deviation. Hollow: the paper's."
APART = 0.22
"""between the memory sizes of a row"""


def accuracy(experiments: Sequence[Experiment]) -> list[Chart]:
    """One chart per stream, one row per method, one colour per memory size.

    A variant of a method follows it.
    """
    kept = compared(experiments)
    sizes = sorted({one.place.memory for one in kept})
    known = [title for panel in panels(kept) for title in quoted(panel)]
    ours = {one.title: name_of(one.first) for one in kept}
    rank = {title: n for n, title in enumerate(dict.fromkeys([*known, *ours]))}
    beside = sorted(rank, key=lambda title: rank.get(ours.get(title) or title, rank[title]))
    return [chart(stream, sizes, beside) for stream in panels(kept, by_stream=True)]


def chart(stream: Panel, sizes: Sequence[int], order: Sequence[str]) -> Chart:
    members = panels(stream.lines)
    ours = {one.title for one in stream.lines}
    theirs = {title for panel in members for title in quoted(panel)}
    rows = [title for title in order if title in ours | theirs]
    return Chart(
        f"{stream.stream}, {stream.seeds}",
        Axis("AA (%)", limits=(0, None)),
        Axis(names=rows),
        [
            one
            for number, panel in enumerate(members)
            for colour in [PALETTE[sizes.index(panel.place.memory) % len(PALETTE)]]
            for one in points(panel, rows, APART * (number - (len(members) - 1) / 2), colour)
        ],
        notes=[NOTE, *not_run(stream, members, rows)],
    )


def not_run(stream: Panel, members: Sequence[Panel], rows: Sequence[str]) -> list[str]:
    """A note on what the paper has and we have not: at any memory size, or at some."""
    ours = {one.title for one in stream.lines}
    missing = [", ".join(title for title in rows if title not in ours)]
    for panel in members:
        here = {one.title for one in panel.lines}
        some = [title for title in rows if title in (ours - here) and title in quoted(panel)]
        missing += [f"{', '.join(some)} with {memory_name(panel.place.memory)}"] * bool(some)
    text = "; ".join(filter(None, missing))
    return [f"Not run on {stream.stream}: {text}."] if text else []


def quoted(panel: Panel) -> dict[str, float]:
    """All that the paper prints of AA at a place, by the names of the methods."""
    table = paper.source(panel.lines[0].item, "AA")
    found = {
        name: paper.printed(table, "AA", name, panel.place)
        for name in paper.lines(table, "AA", panel.place.data)
        if name != REFERENCE
    }
    return {method_name(name): number.mean for name, number in found.items() if number}


def points(panel: Panel, rows: Sequence[str], shift: float, colour: str) -> list[Series]:
    """Points of one memory size: ours with their deviation, then the paper's."""
    size = panel.place.memory
    name, look, known = memory_name(size), Look(colour, "o"), quoted(panel)
    found = []
    for one in panel.lines:
        over, y = one.over(AA.of), [rows.index(one.title) + shift]
        error = [over.std or 0]
        found.append(Series(name, look, [over.mean], y, "points", x_error=error, order=size))
        if (printed := one.printed(AA.name)) is not None:
            known[one.title] = printed
    at = [rows.index(title) + shift for title in known]
    theirs, hollow = list(known.values()), Look(colour, "D", hollow=True)
    return [*found, Series(f"{name} (paper)", hollow, theirs, at, "points", listed=False)]

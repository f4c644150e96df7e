"""Interplay of forgetting and intransigence, coloured by accuracy (paper, Fig. 1 and 4)."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.look import BLACK, GREY, Look
from bison_ocl.report.figures.chart import Axis, Chart, Guide, NotShown, Series
from bison_ocl.report.figures.panels import Panel, panels, series
from bison_ocl.report.study.experiments import Experiment
from bison_ocl.report.study.measures import AA, AF_TABLE, AI, Measure, plus_minus

NOTE = "Means over runs, with one standard deviation; bottom left is best."
CROSSES = "Crosses: the paper's numbers."
POINT, CROSS, TIE = Look(BLACK, "o"), Look(GREY, "x"), Look("#BBBBBB", "", width=0.8)
ROOM = 0.14
"""around the points, as a share of their range"""


def interplay(experiments: Sequence[Experiment], forgetting: Measure = AF_TABLE) -> list[Chart]:
    """One point per method: x = AI, y = AF, colour = AA; a note names methods without AI."""
    known = [one for one in experiments if one.has(AI.of)]
    if not known:
        raise NotShown("no run has AI: FINE-TUNE did not run on the same streams")
    without = [one for one in experiments if not one.has(AI.of)]
    return [
        chart(panel, forgetting, [one.title for one in without if one.place == panel.place])
        for panel in panels(known)
    ]


def chart(panel: Panel, forgetting: Measure, without: Sequence[str]) -> Chart:
    shown = sorted(panel.lines, key=lambda one: not one.label.main)  # its name is placed first
    ours = [point(one, forgetting) for one in shown]
    paper = [cross for one in shown for cross in printed(one, forgetting)]
    points = [*ours, *(one for one in paper if one.shade is not None)]
    missing = [f"Not shown, because not every run has AI: {', '.join(without)}."] * bool(without)
    return Chart(
        panel.title,
        Axis("AI: intransigence (%)", limits=padded([one.x[0] for one in points])),
        Axis("AF: forgetting (%)", limits=padded([one.y[0] for one in points])),
        [*paper, *ours],
        shade="AA (%)",
        scale=panel.place.data,
        guides=[Guide(x=0), Guide(y=0)],
        notes=[NOTE, f"AF: {forgetting.what}.", *[CROSSES] * bool(paper), *missing],
    )


def point(one: Experiment, forgetting: Measure) -> Series:
    """A named point with its deviations."""
    x, y, shade = (one.over(measure.of) for measure in (AI, forgetting, AA))
    hover = [
        f"{measure.name} {plus_minus(found.mean, found.std)}"
        for measure, found in ((AA, shade), (forgetting, y), (AI, x))
    ]
    error = {"x_error": [x.std or 0], "y_error": [y.std or 0]}
    named = {"name": "ours", "look": POINT, "text": one.title, "hover": [", ".join(hover)]}
    return series(one, [x.mean], [y.mean], "points", shade=shade.mean, **error, **named)


def printed(one: Experiment, forgetting: Measure) -> list[Series]:
    """The paper's point as a cross, tied to ours; nothing where the paper has none."""
    x, y, shade = (one.printed(measure.name) for measure in (AI, forgetting, AA))
    if x is None or y is None or shade is None:
        return []
    ours = [one.over(measure.of).mean for measure in (AI, forgetting)]
    hover = f"{one.title}, paper: AA {shade:.1f}, {forgetting.name} {y:.1f}, AI {x:.1f}"
    return [
        series(one, [ours[0], x], [ours[1], y], "line", name="tie", look=TIE, listed=False),
        series(one, [x], [y], "points", name="paper", look=CROSS, shade=shade, hover=[hover]),
    ]


def padded(values: Sequence[float]) -> tuple[float, float]:
    """The range of values, with room for names."""
    room = ROOM * (max(values) - min(values) or 10)
    return min(values) - room, max(values) + room

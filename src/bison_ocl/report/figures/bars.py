"""One bar per line of a panel, the paper's number as a diamond (paper, Table 2, Fig. 5 and 7)."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.look import BLACK, Look
from bison_ocl.report.figures.chart import Axis, Chart, NotShown, Series
from bison_ocl.report.figures.confusion import with_confusion
from bison_ocl.report.figures.panels import Line, Panel, compared
from bison_ocl.report.study import measures
from bison_ocl.report.study.classes import newest
from bison_ocl.report.study.measures import AA, AF_TABLE, AI, Measure, plus_minus
from bison_ocl.report.study.names import class_name
from bison_ocl.report.study.study import plural

THIN = "Thin lines: one standard deviation over runs."
DIAMONDS = "Diamonds: the paper's numbers."
PAPER = Look(BLACK, "D", hollow=True)
MEANINGS = {
    "ablation": "DC: dual classifiers; PAL: proxy-anchor loss; PAF: proxy alignment feedback.",
    "directions": "(PAL, PAF); bs: from buffer to stream; sb: from stream to buffer.",
}


def metric_bars(panels: Sequence[Panel]) -> list[Chart]:
    """AA, AF and AI of every line, side by side."""
    return [
        bars(panel, measure)
        for panel in compared(panels)
        for measure in (AA, AF_TABLE, AI)
        if all(line.group.has(measure.of) for line in panel.lines)
    ]


def newest_precision(panels: Sequence[Panel]) -> list[Chart]:
    """Precision of each class of the last task: one that is favoured is given too many images."""
    return [
        bars(panel, measures.precision(label, class_name(panel.place.data, label)))
        for panel in with_confusion(panels)
        for label in newest_of(panel)
    ]


def newest_of(panel: Panel) -> list[int]:
    """The classes of the last task, on which all runs must agree, whichever came first."""
    runs = [record for line in panel.lines for record in line.group.records]
    if len({frozenset(newest(record)) for record in runs}) > 1:
        raise NotShown("the runs do not end with the same classes")
    return list(newest(runs[0]))


def bars(panel: Panel, measure: Measure) -> Chart:
    """One measure of every line that has it."""
    lines = [line for line in panel.lines if line.group.values(measure.of)]
    if not lines:
        raise NotShown(f"no run has {measure.label}")
    paper = [
        line.series([x], [row], "points", name="paper", look=PAPER, told=[f"paper {x:g} %"])
        for row, line in enumerate(lines)
        if (x := line.printed(panel.item, measure.name)) is not None
    ]
    notes = [f"{measure.label}: {measure.what}.", MEANINGS.get(panel.item), THIN]
    return Chart(
        panel.title,
        Axis(f"{measure.label} (%)"),
        Axis(names=[line.title for line in lines]),
        [*(bar(row, line, measure) for row, line in enumerate(lines)), *paper],
        notes=[*filter(None, notes), *[DIAMONDS] * bool(paper)],
    )


def bar(row: int, line: Line, measure: Measure) -> Series:
    over = line.group.over(measure.of)
    told = f"{plus_minus(over.mean, over.std)} %, {plural(over.n, 'run')}"
    error = [over.std or 0]
    return line.series([over.mean], [row], "bar", x_error=error, told=[told], listed=False)

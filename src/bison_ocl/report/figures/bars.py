"""One bar per experiment: measures with the paper's (Table 2, Fig. 5 and 7), wall time (Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.errors import plural
from bison_ocl.look import BLACK, BLUE, ORANGE, Look
from bison_ocl.report.figures.chart import Axis, Chart, NotShown, Series
from bison_ocl.report.figures.confusion import with_confusion
from bison_ocl.report.figures.panels import Panel, panels, series
from bison_ocl.report.study import measures
from bison_ocl.report.study.classes import as_heading, class_names, newest
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment, by_own_rule, compared
from bison_ocl.report.study.machines import hardware
from bison_ocl.report.study.measures import (
    AA,
    AF_TABLE,
    AI,
    BASELINE,
    TEST,
    TOTAL,
    TRAIN,
    Measure,
    plus_minus,
)

THIN = "Thin lines: one standard deviation over runs."
DIAMONDS = "Diamonds: the paper's numbers."
PAPER = Look(BLACK, "D", hollow=True)
MEANINGS = {
    "ablation": "DC: dual classifiers; PAL: proxy-anchor loss; PAF: proxy alignment feedback.",
    "directions": "(PAL, PAF); bs: from buffer to stream; sb: from stream to buffer.",
}


def metric_bars(experiments: Sequence[Experiment]) -> list[Chart]:
    """AA, AF and AI of every experiment, side by side."""
    return [
        bars(panel, measure)
        for panel in panels(compared(experiments))
        for measure in (AA, AF_TABLE, AI)
        if all(one.has(measure.of) for one in panel.lines)
    ]


def newest_precision(experiments: Sequence[Experiment]) -> list[Chart]:
    """Precision of each class of the last task: low for one that is predicted too often."""
    return [
        bars(panel, measures.precision(label, as_heading(names[label])))
        for panel in panels(with_confusion(experiments))
        for names in [class_names(runs_of(panel))]
        for label in newest_of(panel)
    ]


def newest_of(panel: Panel) -> list[int]:
    """The classes of the last task, on which all runs must agree, in any order."""
    runs = runs_of(panel)
    if len({frozenset(newest(record)) for record in runs}) > 1:
        raise NotShown("the runs do not end with the same classes")
    return list(newest(runs[0]))


def runs_of(panel: Panel) -> list[Entry]:
    return [record for one in panel.lines for record in one.records]


def bars(panel: Panel, measure: Measure) -> Chart:
    """One measure of every experiment that has it."""
    lines = [one for one in panel.lines if one.values(measure.of)]
    if not lines:
        raise NotShown(f"no run has {measure.label}")
    paper = [
        series(one, [x], [row], "points", name="paper", look=PAPER, hover=[f"paper {x:g} %"])
        for row, one in enumerate(lines)
        if (x := one.printed(measure.name)) is not None
    ]
    notes = [f"{measure.label}: {measure.what}.", MEANINGS.get(lines[0].item), THIN]
    return Chart(
        panel.title,
        Axis(f"{measure.label} (%)"),
        Axis(names=[one.title for one in lines]),
        [*(bar(row, one, measure) for row, one in enumerate(lines)), *paper],
        notes=[*filter(None, notes), *[DIAMONDS] * bool(paper)],
    )


def bar(row: int, one: Experiment, measure: Measure) -> Series:
    over = one.over(measure.of)
    hover = f"{plus_minus(over.mean, over.std)} %, {plural(over.n, 'run')}"
    error = [over.std or 0]
    return series(one, [over.mean], [row], "bar", x_error=error, hover=[hover], listed=False)


# --- time ---

DEVIATION = "Thin lines: one standard deviation of the whole run."
PARTS = {TRAIN: ("training", Look(BLUE, "s")), TEST: ("tests", Look(ORANGE, "s"))}


def time_bars(experiments: Sequence[Experiment]) -> list[Chart]:
    """One bar per method, the fastest on top."""
    return [timed(panel) for panel in panels(compared(by_own_rule(experiments)))]


def timed(panel: Panel) -> Chart:
    lines = sorted(panel.lines, key=lambda one: one.over(TOTAL.of).mean)
    base = [one.over(TOTAL.of).mean for one in lines if one.label.printed == BASELINE]
    return Chart(
        panel.title,
        Axis("seconds per run" + ", × ER's" * bool(base), limits=(0, None)),
        Axis(names=[one.title for one in lines]),
        [part for row, one in enumerate(lines) for part in stacked(row, one, base)],
        notes=[DEVIATION, *(f"{text[:1].upper()}{text[1:]}." for text in hardware(lines))],
    )


def stacked(row: int, one: Experiment, base: Sequence[float]) -> list[Series]:
    """Training, then tests; at the end the whole, its deviation and its multiple of ER's."""
    whole, found, start = one.over(TOTAL.of), [], 0.0
    ratio = f"  × {whole.mean / base[0]:.2f}" if base else ""
    for part, (name, look) in PARTS.items():
        last, over = part is TEST, one.over(part.of)
        hover = f"{one.title}: {name} {plus_minus(over.mean, over.std, 2)} s"
        end = {"x_error": [whole.std or 0], "text": f"{whole.mean:.3g} s{ratio}"} if last else {}
        named = {"name": name, "look": look, "start": start, "hover": [hover]}
        found.append(series(one, [over.mean], [row], "bar", **named, **end))
        start += over.mean
    return found

"""Wall time of a run, training and tests, and its multiple of ER's (paper, Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.look import BLUE, ORANGE, Look
from bison_ocl.report.figures.chart import Axis, Chart, Series
from bison_ocl.report.figures.panels import Panel, panels, series
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment, compared, own
from bison_ocl.report.study.machines import hardware
from bison_ocl.report.study.measures import BASELINE, TEST, TRAIN, plus_minus

DEVIATION = "Thin lines: one standard deviation of the whole run."
PARTS = {TRAIN: ("training", Look(BLUE, "s")), TEST: ("tests", Look(ORANGE, "s"))}


def time_bars(found: Sequence[Experiment]) -> list[Chart]:
    """One bar per method, the fastest on top."""
    return [chart(panel) for panel in panels(compared(own(found)))]


def total(record: Entry) -> float:
    """Seconds of training and tests."""
    return sum(part.of(record) or 0.0 for part in PARTS)


def chart(panel: Panel) -> Chart:
    lines = sorted(panel.lines, key=lambda one: one.over(total).mean)
    base = [one.over(total).mean for one in lines if one.label.printed == BASELINE]
    machine = hardware([record for one in lines for record in one.records])
    return Chart(
        panel.title,
        Axis("seconds per run" + ", × ER's" * bool(base), limits=(0, None)),
        Axis(names=[one.title for one in lines]),
        [part for row, one in enumerate(lines) for part in stacked(row, one, base)],
        notes=[DEVIATION, *(f"{text[:1].upper()}{text[1:]}." for text in machine)],
    )


def stacked(row: int, one: Experiment, base: Sequence[float]) -> list[Series]:
    """Training, then tests; at the end the whole, its deviation and its multiple of ER's."""
    whole, found, start = one.over(total), [], 0.0
    ratio = f"  × {whole.mean / base[0]:.2f}" if base else ""
    for part, (name, look) in PARTS.items():
        last, over = part is TEST, one.over(part.of)
        hover = f"{one.title}: {name} {plus_minus(over.mean, over.std, 2)} s"
        end = {"x_error": [whole.std or 0], "text": f"{whole.mean:.3g} s{ratio}"} if last else {}
        named = {"name": name, "look": look, "start": start, "hover": [hover]}
        found.append(series(one, [over.mean], [row], "bar", **named, **end))
        start += over.mean
    return found

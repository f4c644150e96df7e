"""Wall time of a run, training and tests, and how many times ER's (paper, Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence

from bison_ocl.look import BLUE, ORANGE, Look
from bison_ocl.report.figures.chart import Axis, Chart, Series
from bison_ocl.report.figures.panels import Line, Panel, compared, own
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.machines import hardware
from bison_ocl.report.study.measures import BASELINE, TEST, TRAIN, plus_minus

DEVIATION = "Thin lines: one standard deviation of the whole run."
PARTS = {TRAIN: ("training", Look(BLUE, "s")), TEST: ("tests", Look(ORANGE, "s"))}


def time_bars(panels: Sequence[Panel]) -> list[Chart]:
    """One bar per method, the fastest on top."""
    return [chart(panel) for panel in compared(own(panels))]


def total(record: Entry) -> float:
    """Seconds of training and tests."""
    return sum(part.of(record) or 0.0 for part in PARTS)


def chart(panel: Panel) -> Chart:
    lines = sorted(panel.lines, key=lambda line: line.group.over(total).mean)
    base = [line.group.over(total).mean for line in lines if line.label.printed == BASELINE]
    records = [record for line in lines for record in line.group.records]
    told = (f"{said[:1].upper()}{said[1:]}." for said in hardware(records))
    return Chart(
        panel.title,
        Axis("seconds per run" + ", × ER's" * bool(base), limits=(0, None)),
        Axis(names=[line.title for line in lines]),
        [one for row, line in enumerate(lines) for one in stacked(row, line, base)],
        notes=[DEVIATION, *told],
    )


def stacked(row: int, line: Line, base: Sequence[float]) -> list[Series]:
    """Training, then tests; at the end the whole, its deviation and how many times ER's it is."""
    whole, found, start = line.group.over(total), [], 0.0
    ratio = f"  × {whole.mean / base[0]:.2f}" if base else ""
    for part, (name, look) in PARTS.items():
        last, over = part is TEST, line.group.over(part.of)
        told = f"{line.title}: {name} {plus_minus(over.mean, over.std, 2)} s"
        end = {"x_error": [whole.std or 0], "text": f"{whole.mean:.3g} s{ratio}"} if last else {}
        part_of = {"name": name, "look": look, "start": start, "told": [told]}
        found.append(line.series([over.mean], [row], "bar", **part_of, **end))
        start += over.mean
    return found

"""A measure over the settings that vary: a line over one, a map over two (paper, Fig. A2, A3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bison_ocl.report.figures.bars import THIN
from bison_ocl.report.figures.chart import Axis, Chart, Frame, Guide, Map, NotShown, Series
from bison_ocl.report.figures.panels import Panel, panels, series
from bison_ocl.report.study.experiments import Experiment, compared, varied
from bison_ocl.report.study.measures import AA, BALANCE, Measure, plus_minus
from bison_ocl.report.study.names import name_of, variant

BUFFER_BATCH = "buffer_batch"
WEIGHTS = ("beta", "lambda")
NAMES = {
    BUFFER_BATCH: "images of the memory in a step",
    "beta": "β (proxy-anchor loss)",
    "lambda": "λ (alignment)",
}
FLAT = 32
"""buffer batch beyond which the paper sees little gain"""
WIDE = 10
"""largest over smallest value from which an axis is logarithmic"""
ROOM = 0.07
"""of a tick, as a share of its axis"""
FRAMES = "Means over runs. Solid frame: the best cell."
CHOICE = "Dashed frame: the settings that the paper uses."


def buffer_batch(experiments: Sequence[Experiment]) -> list[Chart]:
    """AA over the size of the buffer batch."""
    made = [
        chart
        for panel in panels(compared(experiments))
        for chart in sweeps(panel, AA).get(BUFFER_BATCH, [])
    ]
    if not made:
        raise NotShown("no runs with more than one size of the buffer batch")
    flat = Guide(x=FLAT, text=f"paper: little gain beyond {FLAT}", dashes=":")
    return [replace(chart, x=replace(chart.x, log=True), guides=[flat]) for chart in made]


def sensitivity(experiments: Sequence[Experiment]) -> list[Chart]:
    """AA and balance over β and λ, of runs that differ from the preset in these alone."""
    alone = [one for one in compared(experiments) if not variant(one.first, shown=WEIGHTS)]
    made = [
        chart
        for panel in panels(alone)
        for measure in (AA, BALANCE)
        for chart in sweeps(panel, measure).get(" and ".join(WEIGHTS), [])
    ]
    if not made:
        raise NotShown("no runs with more than one choice of beta and lambda")
    return made


def over_settings(experiments: Sequence[Experiment]) -> list[Chart]:
    """AA over the settings that vary; no chart where none does."""
    return [
        chart
        for panel in panels(compared(experiments))
        for charts in sweeps(panel, AA).values()
        for chart in charts
    ]


def sweeps(panel: Panel, measure: Measure) -> dict[str, list[Chart]]:
    """Charts of the methods that were run with several values of one or two numbers, by setting.

    Methods that vary in the same single setting share a chart.
    """
    alone: dict[str, list[Experiment]] = {}
    found: dict[str, list[Chart]] = {}
    for method in dict.fromkeys(line.method for line in panel.lines):
        alike = [line for line in panel.lines if line.method == method]
        lines = [line for line in alike if line.values(measure.of)]
        match varied_numbers(lines):
            case [name]:
                alone.setdefault(name, []).extend(lines)
            case [down, across]:
                chart = over_two(panel, lines, down, across, measure)
                found.setdefault(f"{down} and {across}", []).append(chart)
    return {name: [over_one(panel, lines, name, measure)] for name, lines in alone.items()} | found


def varied_numbers(lines: Sequence[Experiment]) -> list[str]:
    """The settings in which lines differ; none where one of them is not a number."""
    found = varied(lines)
    kinds = {type(line.settings.get(name)) for line in lines for name in found}
    return found if kinds <= {int, float} else []


def values(lines: Sequence[Experiment], name: str) -> list[float]:
    """The values of a setting, in order."""
    return sorted({line.settings[name] for line in lines})


def axis_of(name: str, tried: Sequence[float]) -> Axis:
    """The axis of a setting, in order of its values; logarithmic where they differ by orders."""
    log = tried[0] > 0 and tried[-1] >= WIDE * tried[0]
    places = np.log(tried) if log else np.array(tried)
    kept = [0]
    for number, place in enumerate(places):
        if place - places[kept[-1]] > ROOM * (places[-1] - places[0]):
            kept.append(number)
    return Axis(NAMES.get(name, name), ticks=[tried[number] for number in kept], log=bool(log))


def over_one(panel: Panel, lines: Sequence[Experiment], name: str, measure: Measure) -> Chart:
    """A line per method, and the paper's numbers as hollow points."""
    methods = dict.fromkeys(line.method for line in lines)
    drawn = [
        one
        for method in methods
        for one in swept([x for x in lines if x.method == method], name, measure)
    ]
    x, y = axis_of(name, values(lines, name)), Axis(f"{measure.label} (%)")
    scale = f"{panel.place.data}, {measure.name} over {name}" + ", logarithmic" * x.log
    return Chart(Panel(tuple(lines)).title, x, y, drawn, notes=[THIN], scale=scale)


def swept(lines: Sequence[Experiment], setting: str, measure: Measure) -> list[Series]:
    """One method over the values of a setting."""
    ordered = sorted(lines, key=lambda line: line.settings[setting])
    over = [line.over(measure.of) for line in ordered]
    x = [line.settings[setting] for line in ordered]
    printed = [line.printed(measure.name) for line in ordered]
    known = {at: number for at, number in zip(x, printed, strict=True) if number is not None}
    first, name = lines[0], name_of(lines[0].first)
    plain = {"name": name, "look": first.method_look}
    error = [one.std or 0 for one in over]
    hover = [plus_minus(one.mean, one.std) for one in over]
    y = [one.mean for one in over]
    ours = series(first, x, y, "line", y_error=error, hover=hover, **plain)
    hollow = {"name": f"{name} (paper)", "look": replace(ours.look, hollow=True)}
    theirs = series(first, list(known), list(known.values()), "points", **hollow)
    return [ours, theirs] if known else [ours]


def over_two(
    panel: Panel, lines: Sequence[Experiment], down: str, across: str, measure: Measure
) -> Chart:
    """A map of the means; frames mark the best cell and the paper's choice."""
    rows, columns = values(lines, down), values(lines, across)
    means = np.full((len(rows), len(columns)), np.nan)
    alone, several = Panel(tuple(lines)), len({line.method for line in panel.lines}) > 1
    name = name_of(lines[0].first)
    title = f"{name}, {alone.seeds}\n{alone.where}" if several else alone.title
    frames = []
    for line in lines:
        settings = line.settings
        row, column = rows.index(settings[down]), columns.index(settings[across])
        means[row, column] = line.over(measure.of).mean
        if line.label.main:
            frames.append(Frame(row, column, "paper's choice"))
            if (number := line.printed(measure.name)) is not None:
                at = f"{sign(down)} = {settings[down]:g}, {sign(across)} = {settings[across]:g}"
                title += f"\npaper: {number:g} at {at}"
    higher = measure.better == "higher"
    best = np.nanargmax(means) if higher else np.nanargmin(means)
    frames.append(Frame(*divmod(int(best), len(columns)), "best"))
    label = f"{measure.label} (%), {measure.better} is better"
    return Chart(
        title,
        Axis(NAMES.get(across, across), [f"{value:g}" for value in columns]),
        Axis(NAMES.get(down, down), [f"{value:g}" for value in rows]),
        map=Map(means.tolist(), frames=frames, label=label, dark_is_high=not higher),
        method=lines[0].method,
        notes=[f"{measure.label}: {measure.what}.", FRAMES, *[CHOICE] * (len(frames) > 1)],
    )


def sign(name: str) -> str:
    """`β` of `β (proxy-anchor loss)`."""
    return NAMES.get(name, name).partition(" (")[0]

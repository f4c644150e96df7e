"""The contents of the page: for each place the charts and tables of every view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bison_ocl.errors import plural
from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.look import Look
from bison_ocl.report.figures.alpha_eta import alpha_eta
from bison_ocl.report.figures.bars import bars, time_bars
from bison_ocl.report.figures.chart import Chart, NotShown
from bison_ocl.report.figures.confusion import confusion
from bison_ocl.report.figures.curves import MOST_BANDS, curves, losses
from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.figures.panels import Panel, panels
from bison_ocl.report.figures.sweeps import sweeps
from bison_ocl.report.page.tables import Details, PageTable, at_place, run_table
from bison_ocl.report.study import measures
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import Experiment, by_own_rule, experiments
from bison_ocl.report.study.looks import looks_of
from bison_ocl.report.study.measures import AF, AF_TABLE, TOTAL
from bison_ocl.report.study.names import memory_name, name_of, stream_name
from bison_ocl.report.study.study import Study
from bison_ocl.report.tables.build import title_of
from bison_ocl.report.tables.layouts import costs, relative, summary
from bison_ocl.report.tables.table import Table

VIEWS = {
    "summary": ("Summary", ""),
    "compare": ("Compare", ""),
    "curves": ("Curves", f"Bands of one standard deviation with at most {MOST_BANDS} methods."),
    "interplay": ("Interplay", "Bottom left is the best balance of stability and plasticity."),
    "confusion": ("Confusion", ""),
    "log": ("α and η", ""),
    "loss": ("Loss", ""),
    "time": ("Time", ""),
    "runs": ("Runs", "Open a run to see its settings, its accuracies and its provenance."),
}
"""Title and note by name, in the order of the tabs."""
METRICS = (*measures.METRICS, measures.A_AUC)
COSTS = (TOTAL, *measures.PARTS, measures.PARAMETERS, measures.PEAK)

Charts = dict[str, list[Chart]]
"""by the choice that shows them: a metric, or a metric over a setting"""


@dataclass(frozen=True)
class View:
    """One view of a place."""

    charts: Charts
    table: PageTable | None
    missing: str
    """the reason where there is neither"""


@dataclass(frozen=True)
class PlaceViews:
    """A place of an item: its names in the controls and its views."""

    item: str
    stream: str
    name: str
    memory: str
    methods: list[str]
    views: dict[str, View]


@dataclass(frozen=True)
class Contents:
    """All that the page shows."""

    title: str
    about: str
    warnings: list[str]
    items: dict[str, str]
    """titles by name"""
    methods: dict[str, tuple[str, Look]]
    places: list[PlaceViews]
    details: Details


def contents(study: Study) -> Contents:
    """The whole study as one value."""
    details, looks = Details(), looks_of(study.items.values())
    entries = [entry for found in study.items.values() for entry in found]
    return Contents(
        title(study),
        f"{plural(sum(entry.rule is None for entry in entries), 'run')}, made with bison-ocl",
        study.warnings,
        {item: title_of(item) for item in study.items},
        {entry.method: (name_of(entry), looks[entry.method]) for entry in entries},
        [
            place
            for item, records in study.items.items()
            for place in places(item, records, looks, details)
        ],
        details,
    )


def title(study: Study) -> str:
    """The only item's title, or the names of all."""
    items = list(study.items)
    if len(items) > 1:
        return f"Results: {', '.join(items)}"
    if items[0] in ITEMS:
        return title_of(items[0])
    found = study.items[items[0]]
    methods = len({entry.method for entry in found if entry.rule is None})
    data = ", ".join(dict.fromkeys(stream_name(entry) for entry in found))
    return f"{items[0]}: {plural(methods, 'method')} on {data}"


def places(
    item: str, records: Sequence[Entry], looks: Mapping[str, Look], details: Details
) -> list[PlaceViews]:
    """The places of an item, each with its views."""
    found = experiments(item, records, looks)
    (metrics,) = summary(item, found)
    spent = cost_table(item, found)
    return [
        PlaceViews(
            item,
            " ".join(panel.place.stream_of),
            panel.stream,
            memory_name(panel.place.memory),
            list(dict.fromkeys(one.method for one in panel.lines)),
            views(panel, metrics, spent, details),
        )
        for panel in panels(found)
    ]


def cost_table(item: str, found: Sequence[Experiment]) -> Table:
    """The costs that were measured."""
    known = [one for one in COSTS if any(other.values(one.of) for other in found)]
    return costs(item, by_own_rule(found), [known[0], relative(TOTAL, found), *known[1:]])


def views(panel: Panel, metrics: Table, spent: Table, details: Details) -> dict[str, View]:
    """The views of a place by name, each with its charts, its table or the reason for neither."""
    here = panel.lines
    charts: dict[str, Callable[[], Charts]] = {
        "compare": partial(compare, panel),
        "curves": lambda: {"": curves(here)},
        "interplay": lambda: {one.label: interplay(here, one) for one in (AF_TABLE, AF)},
        "confusion": lambda: {"": confusion(here)},
        "log": lambda: {"": alpha_eta(here)},
        "loss": lambda: {"": losses(here)},
        "time": lambda: {"": time_bars(here)},
    }
    tables = {
        "summary": at_place(metrics, panel),
        "time": at_place(spent, panel),
        "runs": run_table(panel, (*METRICS, *COSTS), details),
    }
    found = {}
    for name in VIEWS:
        try:
            drawn, missing = charts[name]() if name in charts else {}, ""
        except NotShown as reason:
            drawn, missing = {}, f"Not shown: {reason}."
        found[name] = View(drawn, tables.get(name), missing)
    return found


def compare(panel: Panel) -> Charts:
    """Each measure of every method; over each setting that some method was run with twice."""
    known = [one for one in METRICS if any(other.values(one.of) for other in panel.lines)]
    each = {one.label: [bars(panel, one)] for one in known}
    over = {
        f"{one.label} over {setting}": charts
        for one in known
        for setting, charts in sweeps(panel, one).items()
    }
    return over | each if is_sweep(panel) else each | over


def is_sweep(panel: Panel) -> bool:
    """Whether most lines are methods with several choices of settings: curves come first there."""
    lines = Counter(one.method for one in panel.lines)
    return 2 * sum(n for n in lines.values() if n > 1) > len(panel.lines)

"""What the report page shows: charts and tables, made here, ready for JSON.

The scripts beside this file show it and compute nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.report.figures.alpha_eta import alpha_eta
from bison_ocl.report.figures.bars import bars
from bison_ocl.report.figures.chart import Chart, NotShown
from bison_ocl.report.figures.confusion import confusion
from bison_ocl.report.figures.curves import MOST_BANDS, curves
from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.figures.losses import losses
from bison_ocl.report.figures.panels import Panel, look, panels, stream_title
from bison_ocl.report.figures.sweeps import sweeps
from bison_ocl.report.figures.time_bars import time_bars
from bison_ocl.report.page.plain import Contents, Pool, plain
from bison_ocl.report.page.tables import COSTS, METRICS, POOLS, at_place, run_table
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.groups import Group, grouped, own
from bison_ocl.report.study.labels import label_of
from bison_ocl.report.study.measures import AF, AF_TABLE, TOTAL, Measure
from bison_ocl.report.study.names import memory_name, method_name, stream_name
from bison_ocl.report.study.study import Study, plural
from bison_ocl.report.tables.build import title_of
from bison_ocl.report.tables.cells import Table
from bison_ocl.report.tables.cost import beside_er, costs
from bison_ocl.report.tables.layouts import summary

VIEWS = {
    "summary": ("Summary", ""),
    "compare": ("Compare", ""),
    "curves": (
        "Curves",
        f"With {MOST_BANDS} methods or fewer, bands show one standard deviation over runs.",
    ),
    "interplay": (
        "Interplay",
        "The nearer the bottom left, the better the balance of stability and plasticity.",
    ),
    "confusion": ("Confusion", ""),
    "log": ("α and η", ""),
    "loss": ("Loss", ""),
    "time": ("Time", ""),
    "runs": ("Runs", "Open a run to see its settings, its accuracies and where it was made."),
}
"""Title and note by name, in the order of the tabs."""


def contents(study: Study) -> Contents:
    """The whole study as one object."""
    pools = {name: Pool() for name in POOLS}
    items = [item(name, records, pools) for name, records in study.items.items()]
    entries = [entry for found in study.items.values() for entry in found]
    titles = {entry.method: method_name(entry.method, entry.method_title) for entry in entries}
    runs = sum(entry.rule is None for entry in entries)
    return {
        "title": title(study),
        "about": f"{plural(runs, 'run')}, made with bison-ocl",
        "warnings": study.warnings,
        "bands": MOST_BANDS,
        "methods": {name: {"name": title, **plain(look(name))} for name, title in titles.items()},
        "items": items,
        **{name: pool.values for name, pool in pools.items()},
    }


def title(study: Study) -> str:
    """The only item's title, or the names of all."""
    items = list(study.items)
    if len(items) > 1:
        return f"Results: {', '.join(items)}"
    found = study.items[items[0]]
    methods = len({entry.method for entry in found if entry.rule is None})
    data = ", ".join(dict.fromkeys(stream_name(entry) for entry in found))
    return (
        title_of(items[0])
        if items[0] in ITEMS
        else f"{items[0]}: {plural(methods, 'method')} on {data}"
    )


def item(name: str, records: Sequence[Entry], pools: Mapping[str, Pool]) -> Contents:
    """An item: its places, each with all that is shown of it."""
    groups = grouped(records)
    (metrics,) = summary(name, groups)
    spent = cost_table(name, groups)
    return {
        "name": name,
        "title": title_of(name),
        "places": [
            {
                "stream": " ".join(panel.place.stream_of),
                "name": stream_title(panel),
                "memory": memory_name(panel.place.memory),
                "methods": list(dict.fromkeys(line.group.method for line in panel.lines)),
                "views": dict(views(panel, metrics, spent, pools)),
            }
            for panel in panels(name, groups, label_of(name))
        ],
    }


def cost_table(item: str, groups: Sequence[Group]) -> Table:
    """What runs cost, as far as it was measured."""
    known = [one for one in COSTS if any(group.values(one.of) for group in groups)]
    return costs(item, own(groups), [known[0], beside_er(TOTAL, groups), *known[1:]])


def views(
    panel: Panel, metrics: Table, spent: Table, pools: Mapping[str, Pool]
) -> Iterator[tuple[str, Contents]]:
    """The views of a place by name; what its runs do not have is left out."""
    here = [panel]
    charts: dict[str, dict[str, Callable[[], list[Chart]]]] = {
        "compare": {one.label: partial(compare, panel, one) for one in METRICS},
        "curves": {"": partial(curves, here)},
        "interplay": {one.label: partial(interplay, here, one) for one in (AF_TABLE, AF)},
        "confusion": {"": partial(confusion, here)},
        "log": {"": partial(alpha_eta, here)},
        "loss": {"": partial(losses, here)},
        "time": {"": partial(time_bars, here)},
    }
    tables = {
        "summary": at_place(metrics, panel),
        "time": at_place(spent, panel),
        "runs": run_table(panel, pools),
    }
    for name, (title, note) in VIEWS.items():
        choices = {choice: drawn(make) for choice, make in charts.get(name, {}).items()}
        known = {choice: found for choice, found in choices.items() if found}
        if known or name not in charts:
            table = {"table": tables[name]} if name in tables else {}
            yield name, {"title": title, "note": note, "choices": known, **table}


def compare(panel: Panel, measure: Measure) -> list[Chart]:
    """A measure of every method, and of those that were run with several values of a setting."""
    return [bars(panel, measure), *sweeps(panel, measure)]


def drawn(make: Callable[[], list[Chart]]) -> list[Contents]:
    """Charts, or none where the runs do not make them."""
    try:
        return [plain(chart) for chart in make()]
    except NotShown:
        return []

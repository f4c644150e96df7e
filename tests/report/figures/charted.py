"""What tests look at in the charts of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from bison_ocl.report.figures.chart import Chart, Series
from bison_ocl.report.figures.views import Charts
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.experiments import experiments
from tests.report.studies import study


@cache
def of(item: str, seeds: int = 2) -> tuple[Entry, ...]:
    """The entries of an item, as a study has them; not to be changed."""
    return tuple(study(item, seeds=seeds).items[item])


def records(item: str, seeds: int = 2, **where: Any) -> list[Entry]:
    """Those of them that have some values."""
    return [
        r for r in of(item, seeds) if all(getattr(r, name) == one for name, one in where.items())
    ]


def charts(view: Charts, item: str, found: Sequence[Entry] | None = None) -> list[Chart]:
    """The charts of a view, of all entries of an item or of some."""
    entries = of(item) if found is None else found
    return view(experiments(item, entries))


def chart(
    view: Charts, item: str, found: Sequence[Entry] | None = None, title: str = "Split"
) -> Chart:
    """The only one whose title starts so."""
    (one,) = [one for one in charts(view, item, found) if one.title.startswith(title)]
    return one


def series(chart: Chart, name: str) -> Series:
    """The only series with a name."""
    (found,) = [one for one in chart.series if one.name == name]
    return found


def listed(made: Sequence[Chart]) -> list[str]:
    """The names of the legend."""
    return list(dict.fromkeys(s.name for chart in made for s in chart.series if s.listed))


def notes(made: Sequence[Chart]) -> str:
    return " ".join(dict.fromkeys(note for chart in made for note in chart.notes))


def percent(found: Sequence[Entry], metric: str) -> np.ndarray[Any, Any]:
    return 100 * np.array([getattr(record.metrics, metric) for record in found])

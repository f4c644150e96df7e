"""What tests look at in a figure."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bison_ocl.experiments.records.record import Record
from tests.report.studies import study


@cache
def of(item: str, seeds: int = 2) -> tuple[Record, ...]:
    """The records of an item, as a study has them; not to be changed."""
    return tuple(study(item, seeds=seeds).items[item])


def records(item: str, seeds: int = 2, **where: Any) -> list[Record]:
    """Those of them that have some values."""
    return [
        r
        for r in of(item, seeds)
        if all(getattr(r, name) == value for name, value in where.items())
    ]


def panel(figure: Figure, title: str) -> Axes:
    """The only panel whose title starts so."""
    (found,) = [axes for axes in figure.axes if axes.get_title().startswith(title)]
    return found


def line(axes: Axes, label: str) -> Line2D:
    """The only line with a label."""
    (found,) = [one for one in axes.get_lines() if one.get_label() == label]
    return found


def legend_texts(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def percent(found: list[Record], metric: str) -> np.ndarray[Any, Any]:
    return 100 * np.array([getattr(record.metrics, metric) for record in found])


def note(figure: Figure) -> str:
    """The small print below the panels, as one line."""
    return " ".join(figure.get_supxlabel().split())

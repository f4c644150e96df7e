"""Directions of knowledge interaction: AA, AF and AI (paper, Fig. 5)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from bison_ocl.experiments.records import Record
from bison_ocl.report.figures.metric_bars import metric_bars
from bison_ocl.report.figures.style import common_look
from bison_ocl.report.layouts import direction


@common_look()
def directions(records: Sequence[Record]) -> Figure:
    """(bs, sb): proxy-anchor loss from buffer to stream, feedback from stream to buffer."""
    return metric_bars(records, direction, "table1")

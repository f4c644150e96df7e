"""BISON without its parts: AA, AF and AI (paper, Table 2)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from bison_ocl.experiments.records import Record
from bison_ocl.report.figures.metric_bars import metric_bars
from bison_ocl.report.figures.style import common_look
from bison_ocl.report.layouts import parts


@common_look()
def ablation(records: Sequence[Record]) -> Figure:
    """DC: dual classifiers; PAL: proxy-anchor loss; PAF: proxy alignment feedback."""
    return metric_bars(records, parts, "ablation")

"""Accuracy of a task right after it was learned, at its highest and at the end, beside the paper's.

The paper prints AA, AF_table and AI, from which all three follow: the end is AA, the highest is
AA + AF_table, and right after its task a method has FINE-TUNE's accuracy minus AI. FINE-TUNE's is
its highest, because it forgets from then on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from bison_ocl.experiments.plan.paper import C10, MEMORIES, MINI, REFERENCE
from bison_ocl.experiments.records.record import Record
from bison_ocl.report.formats.markdown import grid
from bison_ocl.report.study.names import method_name
from bison_ocl.report.study.paper import MAIN_TABLE, published

SHOWN = (
    *((name, C10) for name in ("pcr", "er-ace", "mir", "aser")),
    *((name, MINI) for name in ("er", "mir", "er-ace", "pcr", "lode", "bison")),
)
"""Methods and datasets with cells that differ from the paper's, and two that do not."""
NAMES = {C10: "CIFAR-10", MINI: "Mini-ImageNet"}
MISSING = "–"


@dataclass(frozen=True)
class Stages:
    """Mean over tasks, percent."""

    learned: float
    highest: float
    last: float


def when_learned(records: Sequence[Record]) -> str:
    """One row per method and dataset; in a cell one number per memory size, the smallest first."""
    rows = []
    for name, data in SHOWN:
        pairs = [
            (ours(records, name, data, memory), papers(name, data, memory))
            for memory in MEMORIES[data]
        ]
        cells = [
            ", ".join(shown(pair[side], stage) for pair in pairs)
            for stage in ("learned", "highest", "last")
            for side in (0, 1)
        ]
        rows.append([f"{method_name(name)}, {NAMES[data]}", *cells])
    head = ("", "after its task", "paper", "highest", "paper", "at the end", "paper")
    return grid(head, rows, numbers=6)


def shown(stages: Stages | None, stage: str) -> str:
    return MISSING if stages is None else f"{getattr(stages, stage):.1f}"


def ours(records: Iterable[Record], name: str, data: str, memory: int) -> Stages | None:
    """Means over runs; None if there is none."""
    cell = (name, data, memory)
    found = [
        100 * np.array(one.accuracy)
        for one in records
        if (one.method, one.data, one.memory) == cell
    ]
    if not found:
        return None
    return Stages(
        fmean(float(np.diag(matrix).mean()) for matrix in found),
        fmean(float(matrix.max(0).mean()) for matrix in found),
        fmean(float(matrix[-1].mean()) for matrix in found),
    )


def papers(name: str, data: str, memory: int) -> Stages | None:
    """From the printed numbers; None if one of them is missing."""
    metrics = {
        (metric, line): published(MAIN_TABLE, metric, line, data, memory)
        for metric in ("AA", "AF_table", "AI")
        for line in (name, REFERENCE)
    }
    printed = {key: found.mean for key, found in metrics.items() if found is not None}
    try:
        reference = printed["AA", REFERENCE] + printed["AF_table", REFERENCE]
        last, forgotten = printed["AA", name], printed["AF_table", name]
        return Stages(reference - printed["AI", name], last + forgotten, last)
    except KeyError:
        return None

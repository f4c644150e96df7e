"""Measures of a run: accuracy, forgetting in both conventions, intransigence, cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bison_ocl.evaluate.confusion import Pairs, similar_confusion, similar_precision
from bison_ocl.evaluate.metrics import accuracy_curve, intransigence_std_over_tasks
from bison_ocl.experiments.records.record import Counts
from bison_ocl.report.study.classes import shown_precision
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.paper import Published, printed
from bison_ocl.report.study.places import Place

BASELINE = "er"
"""the method that costs are compared with"""

Better = Literal["higher", "lower"] | None
InPaper = Callable[[str, str, str | None, Place], Published | None]
"""by item, name of the measure, line and place"""


@dataclass(frozen=True)
class Measure:
    """A number of a run, in the unit a table prints."""

    name: str
    """as in records and in the paper's numbers"""
    label: str
    of: Callable[[Entry], float | None]
    """None where the run does not have it"""
    better: Better = None
    unit: str = "%"
    decimals: int = 1
    over_tasks: Callable[[Sequence[Entry]], float | None] | None = None
    """a second deviation, for AI: that of the tasks' means, which the paper's tables print"""
    what: str = ""
    """its meaning, as the rest of a sentence"""
    in_paper: InPaper = printed
    """the paper's number of a line at a place"""


def timing(name: str) -> Callable[[Entry], float | None]:
    return lambda record: getattr(record.timing, name)


def ai_over_tasks(records: Sequence[Entry]) -> float | None:
    """Deviation over tasks of AI, of the runs that have one."""
    pairs = [(one.accuracy, one.reference) for one in records if one.reference is not None]
    if not pairs:
        return None
    matrices, references = zip(*pairs, strict=True)
    over = intransigence_std_over_tasks(matrices, references)
    return None if over is None else 100 * over


def distance_from_zero(record: Entry) -> float | None:
    """√(max(AI, 0)² + max(AF_table, 0)²), in percent; below zero is no better than zero."""
    ai, af = record.metrics.AI, record.metrics.AF_table
    return None if ai is None else 100 * math.hypot(max(ai, 0), max(af, 0))


def share(name: str, label: str, better: Better, what: str) -> Measure:
    """A metric that records hold, in percent."""

    def of(record: Entry) -> float | None:
        value: float | None = getattr(record.metrics, name)
        return None if value is None else 100 * value

    arrow = "↑" if better == "higher" else "↓"
    return Measure(name, f"{label} {arrow}", of, better, what=what)


AA = share("AA", "AA", "higher", "average accuracy over all tasks after the last one")
MEAN = "forgetting, highest minus final accuracy of a task: mean over all tasks (paper's tables)"
AF_TABLE = share("AF_table", "AF_table", "lower", MEAN)
TEXT = "forgetting, highest earlier minus final accuracy: mean over all but the last (paper's text)"
AF = share("AF", "AF (text)", "lower", TEXT)
LOST = "intransigence: accuracy lost on new tasks compared with FINE-TUNE"
AI = replace(share("AI", "AI", "lower", LOST), over_tasks=ai_over_tasks)
ANYTIME = "anytime accuracy: mean over the stream, where tasks share classes"
A_AUC = share("A_AUC", "A_AUC", "higher", ANYTIME)
ROOT = "√(max(AI, 0)² + max(AF_table, 0)²), distance from neither forgetting nor intransigence"
BALANCE = Measure("balance", "balance ↓", distance_from_zero, "lower", what=ROOT)
METRICS = (AA, AF_TABLE, AF, AI)

TOTAL = Measure("total_s", "whole run", timing("total_s"), "lower", "s")
TRAIN = Measure("train_s", "training", timing("train_s"), "lower", "s")
TEST = Measure("test_s", "tests", timing("test_s"), "lower", "s")
STEP = Measure("ms_per_step", "a step", timing("ms_per_step"), "lower", "ms", 2)
PARTS = (TRAIN, TEST, STEP)
PARAMETERS = Measure("parameters", "parameters", lambda r: r.parameters, "lower", "", 0)
PEAK = Measure(
    "peak_MB", "peak memory", timing("peak_MB"), "lower", "MB", 0, in_paper=lambda *_: None
)
"""the paper's counts the whole process: only multiples compare"""


def plus_minus(mean: float, std: float | None, decimals: int = 1) -> str:
    """`26.3 ± 1.0`; counts that do not vary, and single runs, have no deviation."""
    certain = std is None or (decimals == 0 and std < 0.5)
    return f"{mean:z,.{decimals}f}" + ("" if certain else f" ± {std:,.{decimals}f}")


def with_unit(measure: Measure, label: str = "") -> str:
    """The label with its unit, where that is not percent."""
    return (label or measure.label) + (
        f" ({measure.unit})" if measure.unit not in ("%", "") else ""
    )


def after_task(task: int) -> Measure:
    """AA over the tasks learned so far, after task `task` (from 0)."""

    def of(record: Entry) -> float | None:
        curve = accuracy_curve(record.accuracy)
        return 100 * float(curve[task]) if task < len(curve) else None

    return Measure(f"AA after {task + 1}", f"task {task + 1}", of, "higher")


def of_confusion(name: str, better: Better, what: str, share: Callable[[Counts], float]) -> Measure:
    """A share of the images tested at the end, in percent; None where it is undefined."""

    def of(record: Entry) -> float | None:
        value = 100 * share(record.confusion[-1]) if record.confusion else math.nan
        return None if math.isnan(value) else value

    return Measure(name, f"{name} {'↑' if better == 'higher' else '↓'}", of, better, what=what)


def precision(label: int, name: str) -> Measure:
    """Of the images classified as one class, the share that is right."""
    what = f"share of right images among those classified as {name} at the end, 0 if there are none"
    found = of_confusion(name, "higher", what, lambda c: float(shown_precision(c)[label]))
    return replace(found, label=f"precision of {found.label}")


def similar(pairs: Pairs) -> tuple[Measure, Measure]:
    """SC@1 and P_sim, averaged over the classes that have a partner."""
    taken = "share of a class's images classified as its partner"
    right = "of those classified as their class or its partner, the share that is right"
    return (
        of_confusion("SC@1", "lower", taken, lambda c: over_classes(similar_confusion(c, pairs))),
        of_confusion("P_sim", "higher", right, lambda c: over_classes(similar_precision(c, pairs))),
    )


def over_classes(shares: np.ndarray) -> float:
    return float(np.nanmean(shares))

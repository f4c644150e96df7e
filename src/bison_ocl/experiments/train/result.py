"""The record of a run: what results.jsonl keeps of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bison_ocl import tree
from bison_ocl.evaluate.anytime import area_under_curve
from bison_ocl.evaluate.confusion import in_original_ids
from bison_ocl.evaluate.metrics import average_accuracy, forgetting
from bison_ocl.experiments.records.digests import digests
from bison_ocl.experiments.records.environment import commit, environment
from bison_ocl.experiments.records.results import SCHEMA, Record
from bison_ocl.experiments.train.loss_curve import Intervals
from bison_ocl.experiments.train.progress import Counts, Progress
from bison_ocl.experiments.train.run import Run

SHOWN_CLASSES = 20
"""Confusion matrices are kept in the record up to so many classes."""


def record_of(run: Run) -> Record:
    """The line of results.jsonl. AI is left to whoever has the FINE-TUNE run beside it."""
    matrix, progress, order = run.accuracy(), run.progress, run.stream.order
    metrics = metrics_of(matrix)
    if run.stream.overlapping:
        metrics["A_AUC"] = area_under_curve(**progress.anytime)
    return {
        "schema": SCHEMA,
        **run.spec.__dict__,
        "class_order": list(order),
        "accuracy": matrix,
        "metrics": metrics,
        "also": {rule: rescored(run, rule) for rule in progress.also},
        "confusion": shown(run, progress.confusions),
        "parameters": sum(leaf.numel() for leaf in tree.leaves(run.me.net.params)),
        "log": progress.log,
        "losses": Intervals(run.steps).curve(progress.losses),
        **({"refused_steps": progress.refused} if progress.refused else {}),
        **({"anytime": progress.anytime} if run.stream.overlapping else {}),
        "timing": timing_of(progress, run.together or 1, run.compiled),
        **digests(run.stream.dataset),
        "environment": environment(run.device),
        "commit": commit(),
    }


def rescored(run: Run, rule: str) -> Record:
    """What another inference rule says of the same networks."""
    matrix = run.accuracy(rule)
    confusion = shown(run, run.progress.also[rule])
    return {"accuracy": matrix, "metrics": metrics_of(matrix), "confusion": confusion}


def shown(run: Run, found: Sequence[Counts]) -> list[Counts] | None:
    """Confusion matrices in the dataset's own ids; None where they are large."""
    if run.stream.dataset.classes > SHOWN_CLASSES:
        return None
    return [in_original_ids(counts, run.stream.order).tolist() for counts in found]


def metrics_of(matrix: list[list[float]]) -> dict[str, Any]:
    """What the accuracy matrix says; AI needs another run beside it."""
    return {
        "AA": average_accuracy(matrix),
        "AF": forgetting(matrix, "text"),
        "AF_table": forgetting(matrix, "table"),
        "AI": None,
    }


def timing_of(progress: Progress, together: int, compiled: bool) -> dict[str, Any]:
    """What a run took; among others trained with it, its share."""
    timing = {
        "train_s": progress.train_seconds,
        "test_s": progress.test_seconds,
        "total_s": progress.train_seconds + progress.test_seconds,
        "ms_per_step": 1e3 * progress.train_seconds / progress.step,
        "seeds_at_once": together,
        "compiled": compiled,
    }
    peak = progress.peak_megabytes
    return timing if peak is None else timing | {"peak_MB": peak}

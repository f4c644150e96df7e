"""AI of a run, from the FINE-TUNE run on the same stream (paper, §5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bison_ocl.evaluate.metrics import intransigence
from bison_ocl.experiments.records import Record

REFERENCE = "finetune"
"""The method whose accuracy right after each task is a*_j."""


def with_intransigence(records: Sequence[Record], beside: Sequence[Record] = ()) -> list[Record]:
    """Records with AI and the reference a* filled in; None where FINE-TUNE did not run.

    The FINE-TUNE runs are looked for among the records and among those `beside` them.
    """
    diagonals = {
        same_stream(record): np.diag(record["accuracy"]).tolist()
        for record in (*beside, *records)
        if record["method"] == REFERENCE
    }
    return [filled(record, diagonals.get(same_stream(record))) for record in records]


def filled(record: Record, reference: list[float] | None) -> Record:
    """A record with its AI against a reference."""
    found = None if reference is None else intransigence(record["accuracy"], reference)
    return {**record, "metrics": {**record["metrics"], "AI": found}, "reference": reference}


def same_stream(record: Record) -> tuple[Any, ...]:
    """What two runs must share for their accuracies to be compared task by task."""
    return record["data"], record["stream"], tuple(record["class_order"]), record["seed"]

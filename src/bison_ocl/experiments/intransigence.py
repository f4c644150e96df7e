"""AI of a run, from the FINE-TUNE run on the same stream (paper, §5.1)."""

from __future__ import annotations

import json
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
    references: dict[tuple[Any, ...], list[Record]] = {}
    for one in (*beside, *records):
        if one["method"] == REFERENCE:
            references.setdefault(same_stream(one), []).append(one)
    return [
        filled(record, reference_for(record, references.get(same_stream(record), [])))
        for record in records
    ]


def reference_for(record: Record, fitting: Sequence[Record]) -> list[float] | None:
    """a*_j; of several runs on the same stream, the one whose settings agree most."""
    if not fitting:
        return None
    closest = max(reversed(fitting), key=lambda reference: agreement(record, reference))
    diagonal: list[float] = np.diag(closest["accuracy"]).tolist()
    return diagonal


def agreement(one: Record, other: Record) -> int:
    """How many settings two runs share."""
    return sum(one["settings"].get(key) == value for key, value in other["settings"].items())


def filled(record: Record, reference: list[float] | None) -> Record:
    """A record with its AI against a reference."""
    found = None if reference is None else intransigence(record["accuracy"], reference)
    return {**record, "metrics": {**record["metrics"], "AI": found}, "reference": reference}


def same_stream(record: Record) -> tuple[Any, ...]:
    """What two runs must share for their accuracies to be compared task by task."""
    options = json.dumps(record["data_options"], sort_keys=True)
    return record["data"], options, record["stream"], tuple(record["class_order"]), record["seed"]

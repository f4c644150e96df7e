"""AI of a run, from the FINE-TUNE run on the same stream (paper, §5.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bison_ocl.evaluate.metrics import intransigence
from bison_ocl.experiments.records.digests import TEST, differ
from bison_ocl.experiments.records.results import Record
from bison_ocl.experiments.records.spec import precision_of

REFERENCE = "finetune"
"""The method whose accuracy right after each task is a*_j."""


def with_intransigence(records: Sequence[Record], beside: Sequence[Record] = ()) -> list[Record]:
    """Records with AI and the reference a* filled in; None where FINE-TUNE did not run.

    The FINE-TUNE runs are looked for among the records and among those `beside` them.
    `reference_run` tells the precision and the settings of the run that was found.
    """
    references: dict[tuple[Any, ...], list[Record]] = {}
    for one in (*beside, *records):
        if one["method"] == REFERENCE:
            references.setdefault(same_stream(one), []).append(one)
    return [
        filled(record, reference_for(record, references.get(same_stream(record), [])))
        for record in records
    ]


def reference_for(record: Record, fitting: Sequence[Record]) -> Record | None:
    """Of several FINE-TUNE runs on the same stream, the one that was run most alike."""
    same = [one for one in reversed(fitting) if not differ(record, one)]
    return max(same, key=lambda one: agreement(record, one)) if same else None


def agreement(one: Record, other: Record) -> tuple[int, bool]:
    """How many settings two runs share, and whether they share the precision."""
    settings = sum(one["settings"].get(key) == value for key, value in other["settings"].items())
    return settings, precision_of(one) == precision_of(other)


def filled(record: Record, closest: Record | None) -> Record:
    """A record with its AI against a FINE-TUNE run."""
    if closest is None:
        found, reference, told = None, None, None
    else:
        reference = np.diag(closest["accuracy"]).tolist()  # a*_j
        found = intransigence(record["accuracy"], reference)
        told = {"precision": precision_of(closest), **closest["settings"]}
    return {
        **record,
        "metrics": {**record["metrics"], "AI": found},
        "reference": reference,
        "reference_run": told,
    }


def same_stream(record: Record) -> tuple[Any, ...]:
    """What two runs must share for their accuracies to be compared task by task."""
    images = [record["data"], record["data_options"], record.get(TEST)]
    order = tuple(record["class_order"])
    return json.dumps(images, sort_keys=True), record["stream"], order, record["seed"]

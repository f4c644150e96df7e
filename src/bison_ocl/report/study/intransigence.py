"""AI of a run, from the FINE-TUNE run on the same stream (paper, §5.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bison_ocl.evaluate.metrics import intransigence
from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.experiments.records.digests import differ
from bison_ocl.experiments.records.record import Record
from bison_ocl.report.study.entry import Entry


def with_intransigence(entries: Sequence[Entry], others: Sequence[Record] = ()) -> list[Entry]:
    """Entries with AI and the reference a* filled in; None where FINE-TUNE did not run.

    others: records among which FINE-TUNE runs are looked for, too.
    """
    references: dict[tuple[Any, ...], list[Record]] = {}
    for one in (*others, *entries):
        if one.method == REFERENCE:
            references.setdefault(same_stream(one), []).append(one)
    return [
        filled(entry, reference_for(entry, references.get(same_stream(entry), [])))
        for entry in entries
    ]


def reference_for(entry: Entry, fitting: Sequence[Record]) -> Record | None:
    """Of several FINE-TUNE runs on the same stream, the one that was run most alike."""
    same = [one for one in reversed(fitting) if not differ(entry, one)]
    return max(same, key=lambda one: agreement(entry, one)) if same else None


def agreement(one: Record, other: Record) -> tuple[int, bool]:
    """How many settings two runs share, and whether they share the precision."""
    settings = sum(one.settings.get(key) == value for key, value in other.settings.items())
    return settings, one.precision == other.precision


def filled(entry: Entry, closest: Record | None) -> Entry:
    """An entry with its AI against a FINE-TUNE run."""
    if closest is None:
        none = replace(entry.metrics, AI=None)
        return replace(entry, metrics=none, reference=None, reference_run=None)
    reference: list[float] = np.diag(closest.accuracy).tolist()  # a*_j
    found = intransigence(entry.accuracy, reference)
    return replace(
        entry,
        metrics=replace(entry.metrics, AI=found),
        reference=reference,
        reference_run={"precision": closest.precision, **closest.settings},
    )


def same_stream(record: Record) -> tuple[Any, ...]:
    """What two runs must share for their accuracies to be compared task by task."""
    images = [record.data, record.data_options, record.data_sha256]
    return json.dumps(images, sort_keys=True), record.stream, tuple(record.class_order), record.seed

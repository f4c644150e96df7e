"""One line of a study: a run as one inference rule scores it, with its AI (paper, §5.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bison_ocl.evaluate.metrics import intransigence
from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.experiments.records.digests import differ
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.spec import defaults, under_rule


@dataclass(frozen=True, kw_only=True)
class Entry(Record):
    """A record, with AI filled in where FINE-TUNE ran on the same stream.

    A network that was scored by another rule too has one more entry, of method `er + ncm`.
    """

    rule: str | None = None
    """None for the method's own inference rule"""
    mixed_precision: bool = True
    """whether the runs of the item were computed in different precisions"""
    reference: list[float] | None = None
    """a*_j: FINE-TUNE's accuracy on each task right after learning it"""
    reference_run: dict[str, Any] | None = None
    """precision and settings of that FINE-TUNE run"""


def prepared(records: Sequence[Record], others: Sequence[Record] = ()) -> list[Entry]:
    """Entries by rule, with AI; FINE-TUNE runs may be among the others.

    A precision that all runs share does not distinguish them.
    """
    mixed = len({record.precision for record in records}) > 1
    return with_intransigence(list(by_rule(records, mixed)), others)


def by_rule(records: Sequence[Record], mixed_precision: bool = True) -> Iterator[Entry]:
    """An entry for each record, and one more for every other rule its network was scored by."""
    for record in records:
        values = vars(record) | {"also": {}, "mixed_precision": mixed_precision}
        yield Entry(**values)
        for rule, scores in record.also.items():
            other = {"method": under_rule(record.method, rule), "rule": rule}
            yield Entry(**values | vars(scores) | other)


def by_own_rule(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without networks scored again by another rule, which were trained once."""
    return [entry for entry in entries if entry.rule is None]


# --- intransigence ---


def with_intransigence(entries: Sequence[Entry], others: Sequence[Record] = ()) -> list[Entry]:
    """Entries with AI and the reference a* filled in; None where FINE-TUNE did not run.

    others: more records that may hold FINE-TUNE runs.
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
    """The FINE-TUNE run most like an entry, of several on the same stream."""
    same = [one for one in reversed(fitting) if not differ(entry, one)]
    return max(same, key=lambda one: agreement(entry, one)) if same else None


def agreement(one: Record, other: Record) -> tuple[int, bool]:
    """How many settings two runs share, and whether they share the precision.

    A setting that is younger than a run counts with its default.
    """
    ours, theirs = (defaults(run.method) | run.settings for run in (one, other))
    settings = sum(ours.get(key) == value for key, value in theirs.items())
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

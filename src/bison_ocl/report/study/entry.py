"""One line of a study: a run as one inference rule scores it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bison_ocl.experiments.records.record import Record


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


def by_rule(records: Sequence[Record], mixed_precision: bool = True) -> Iterator[Entry]:
    """An entry for each record, and one more for every other rule its network was scored by."""
    for record in records:
        values = vars(record) | {"also": {}, "mixed_precision": mixed_precision}
        yield Entry(**values)
        for rule, scores in record.also.items():
            other = {"method": f"{record.method} + {rule}", "rule": rule}
            yield Entry(**values | vars(scores) | other)


def own(entries: Sequence[Entry]) -> list[Entry]:
    """Without networks that are scored again by another rule: they were trained once."""
    return [entry for entry in entries if entry.rule is None]

"""The records of an item, each run once, and those of the other items in the folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from bison_ocl.errors import UserError
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.records.spec import Spec
from bison_ocl.methods.outside import check_source, source_digest


class Ledger:
    """OUT/ITEM/results.jsonl, appended to by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = by_identity(records.read_complete(path))

    def add(self, record: Record) -> None:
        """Write a record unless its run is there with the same inference rules."""
        before = self.records.get(record.identity)
        if before is None or not set(record.also) <= set(before.also):
            records.append(self.path, record)
            self.records[record.identity] = record


def looked_up(found: dict[str, Record], spec: Spec, also: Iterable[str]) -> Record | None:
    """The record of a run, if it is found with all inference rules asked for."""
    record = found.get(spec.identity)
    return record if record is not None and set(also) <= set(record.also) else None


def check_versions(found: Iterable[Record], spec: Spec, path: Path) -> None:
    """Refuse a run if other seeds of it come from another version: a mean would mix the two."""
    source = source_digest(spec.method)
    for record in found:
        other = record.method == spec.method and record.method_source != source
        if other and record.experiment == spec.experiment:
            check_source(record.method_source, spec.method, f"seed {record.seed} in {path}")


def by_identity(found: Iterable[Record]) -> dict[str, Record]:
    """Records by identity; of duplicates, the one with more inference rules, else the later.

    Duplicates with equal accuracies come from the same network, so their rules are merged.
    """
    chosen: dict[str, Record] = {}
    for record in found:
        before = chosen.get(key := record.identity, record)
        kept = record if len(record.also) >= len(before.also) else before
        if before.accuracy == record.accuracy:
            kept = replace(kept, also=before.also | record.also)
        chosen[key] = kept
    return chosen


def of_other_items(
    item: Path, apart: Iterable[str], say: Callable[[str], None]
) -> dict[str, Record]:
    """The runs of the other items in the same folder, except the items `apart`."""
    found: list[Record] = []
    for path in sorted(item.parent.glob(f"*/{records.RESULTS}")):
        if path.parent == item or path.parent.name in apart:
            continue
        try:
            found += records.read_complete(path)
        except UserError as error:
            say(f"skipped the runs of another item: {error}")
    return by_identity(found)

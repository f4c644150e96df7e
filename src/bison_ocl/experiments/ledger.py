"""The records of an item, each run written once, and those of the items beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from bison_ocl.errors import UserError
from bison_ocl.experiments import records
from bison_ocl.experiments.records import Record
from bison_ocl.experiments.spec import PLAIN, Spec

FIELDS = tuple(field.name for field in fields(Spec))


def identity(run: Mapping[str, Any]) -> str:
    """What tells a run from others, as one text; equal for a spec and its records."""
    told = {"precision": PLAIN, **run}  # records from before there was a choice
    return json.dumps([told.get(name) for name in FIELDS], sort_keys=True)


class Ledger:
    """OUT/ITEM/results.jsonl. One process at a time appends to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found = by_identity(whole(path))

    def get(self, spec: Spec, also: Iterable[str] = ()) -> Record | None:
        """The record of a run, if it holds all inference rules asked for."""
        return get(self.found, spec, also)

    def add(self, record: Record) -> None:
        """Write a record unless that run is there, with the same inference rules."""
        before = self.found.get(identity(record))
        if before is None or not set(record["also"]) <= set(before["also"]):
            records.append(self.path, record)
            self.found[identity(record)] = record


def get(found: dict[str, Record], spec: Spec, also: Iterable[str]) -> Record | None:
    """The record of a run among others, if it holds all inference rules asked for."""
    record = found.get(identity(vars(spec)))
    return record if record is not None and set(also) <= set(record["also"]) else None


def by_identity(found: Iterable[Record]) -> dict[str, Record]:
    """Of a run that is there twice, the record with more inference rules, or else the later."""
    chosen: dict[str, Record] = {}
    for record in found:
        before = chosen.get(key := identity(record))
        if before is None or len(record["also"]) >= len(before["also"]):
            chosen[key] = record
    return chosen


def whole(path: Path) -> list[Record]:
    """The records of a file without a last line that is cut off, or is being written right now."""
    lines = records.contents(path).split(b"\n")[:-1]
    return [records.parse(line, path, number) for number, line in enumerate(lines, 1) if line]


def beside(item: Path, apart: Iterable[str], say: Callable[[str], None]) -> dict[str, Record]:
    """The runs of the other items in the same folder, save those of items that stand `apart`."""
    found: list[Record] = []
    for path in sorted(item.parent.glob("*/results.jsonl")):
        if path.parent == item or path.parent.name in apart:
            continue
        try:
            found += whole(path)
        except UserError as error:
            say(f"nothing is taken from another item: {error}")
    return by_identity(found)

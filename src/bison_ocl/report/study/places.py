"""Where runs can be compared: the same data, cut and streamed alike, with the same memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bison_ocl.experiments.plan.paper import REFERENCE
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.study.names import DATA

Place = tuple[str, str, str, int]
"""Data, how a folder was cut, stream, memory."""


def place_of(record: Entry) -> Place:
    options = json.dumps(record.data_options, sort_keys=True)
    return record.data, options, record.stream, record.memory


def compared(records: Sequence[Entry]) -> list[Entry]:
    """Without FINE-TUNE, which is there for AI alone."""
    return [record for record in records if record.method != REFERENCE]


def in_every_place(records: Sequence[Entry]) -> list[Entry]:
    """FINE-TUNE keeps no memory: its runs stand beside every size on their stream."""
    sizes: dict[tuple[str, ...], dict[int, None]] = {}
    for record in records:
        if record.method != REFERENCE:
            sizes.setdefault(place_of(record)[:3], {})[record.memory] = None
    found = []
    for record in records:
        alone = record.method == REFERENCE
        beside = sizes.get(place_of(record)[:3], ()) if alone else ()
        found += [replace(record, memory=memory) for memory in beside or (record.memory,)]
    return found


def in_order(places: Iterable[Place]) -> list[Place]:
    """Each once: datasets in the paper's order, then by memory."""
    rank = {data: place for place, data in enumerate(DATA)}
    return sorted(dict.fromkeys(places), key=lambda place: (rank.get(place[0], len(rank)), *place))

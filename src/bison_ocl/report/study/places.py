"""Where runs can be compared: the same data, cut and streamed alike, with the same memory."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from bison_ocl.experiments.records.spec import Spec
from bison_ocl.report.study.names import DATA


class Place(NamedTuple):
    """A stream and a memory size."""

    data: str
    options: str
    """how a folder was cut, as JSON"""
    stream: str
    memory: int

    @property
    def stream_of(self) -> tuple[str, ...]:
        """The place without its memory."""
        return self[:3]


def place_of(run: Spec) -> Place:
    options = json.dumps(run.data_options, sort_keys=True)
    return Place(run.data, options, run.stream, run.memory)


def in_order(places: Iterable[Place]) -> list[Place]:
    """Each once: datasets in the paper's order, then by memory."""
    rank = {data: place for place, data in enumerate(DATA)}
    return sorted(dict.fromkeys(places), key=lambda place: (rank.get(place.data, len(rank)), place))

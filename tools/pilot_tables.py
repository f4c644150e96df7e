"""Tables of pilot networks in docs/BEYOND.md: several rules on one network, and further ideas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bison_ocl.experiments.plan.paper import C10, C100, MEMORIES, MINI
from bison_ocl.report.formats.markdown import grid
from bison_ocl.report.study.names import place_name

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
READOUTS, REVIEWS = BENCHMARKS / "readouts.jsonl", BENCHMARKS / "review.jsonl"
OURS = "bison-ald"
CELLS = [(data, memory) for data in (C10, C100, MINI) for memory in MEMORIES[data]]
RULES = ("ld-mirror", "ld-centred-crop")
"""by which ideas are compared"""
REVIEW = "250"
"""steps of the review that is shown"""
NOT_RUN, MISSING = "Not run yet.", "–"

Row = Mapping[str, Any]
Gain = tuple[str, tuple[str, int], list[float]]
"""an idea, a cell, and points of AA by each rule"""


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def readouts(pilots: Sequence[Row]) -> str:
    """AA of BISON-ALD's pilot networks by rule; the mean over seeds, with their number."""
    by_cell: dict[tuple[str, int], list[Mapping[str, float]]] = {}
    for row in pilots:
        if row["method"] == OURS:
            by_cell.setdefault(cell_of(row), []).append(row["AA"])
    ran = {cell: by_cell[cell] for cell in CELLS if cell in by_cell}
    head = [f"{place_name(*cell)} (n = {len(found)})" for cell, found in ran.items()]
    lines = [
        [f"`{rule}`", *(f"{fmean(one[rule] for one in found):.1f}" for found in ran.values())]
        for rule in pilots[0]["AA"]
    ]
    return grid(("averaged weights by", *head), lines, numbers=len(ran))


def ideas(pilots: Sequence[Row], reviews: Sequence[Row]) -> str:
    """AA with a changed training minus BISON-ALD's on the same streams, by two rules."""
    gained: dict[str, dict[tuple[str, int], list[list[float]]]] = {}
    for name, cell, gains in (*trained_otherwise(pilots), *reviewed(reviews)):
        gained.setdefault(name, {}).setdefault(cell, []).append(gains)
    ran = [cell for cell in CELLS if any(cell in found for found in gained.values())]
    if not ran:
        return NOT_RUN
    lines = [
        [name, *(by_both_rules(found.get(cell)) for cell in ran)]
        for name, found in sorted(gained.items())
    ]
    return grid(("idea", *(place_name(*cell) for cell in ran)), lines, numbers=len(ran))


def by_both_rules(gains: Sequence[Sequence[float]] | None) -> str:
    """`-2.5 / -2.3 (2)`: means, and the number of seeds."""
    if gains is None:
        return MISSING
    means = (f"{fmean(one):+.1f}" for one in zip(*gains, strict=True))
    return f"{' / '.join(means)} ({len(gains)})"


def trained_otherwise(pilots: Sequence[Row]) -> Iterator[Gain]:
    """Networks of other methods, against BISON-ALD's of the same streams."""
    whole = {stream_of(row): row["AA"] for row in pilots if row["method"] == OURS}
    for row in pilots:
        if row["method"] != OURS and (ours := whole.get(stream_of(row))):
            yield row["method"].rpartition(":")[2], cell_of(row), difference(row["AA"], ours)


def reviewed(reviews: Iterable[Row]) -> Iterator[Gain]:
    """Networks after a review of the memory, against the same ones before it."""
    for row in reviews:
        by_steps = row["AA by steps"]
        yield "Reviewed", cell_of(row), difference(by_steps[REVIEW], by_steps["0"])


def difference(changed: Mapping[str, float], ours: Mapping[str, float]) -> list[float]:
    return [changed[rule] - ours[rule] for rule in RULES]


def cell_of(row: Row) -> tuple[str, int]:
    return row["data"], row["memory"]


def stream_of(row: Row) -> tuple[str, int, int]:
    return row["data"], row["memory"], row["seed"]

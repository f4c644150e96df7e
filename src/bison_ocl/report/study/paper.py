"""The paper's numbers as printed, in percent, and which of ours they are compared with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from bison_ocl.experiments.plan.paper import ITEMS, REFERENCE
from bison_ocl.report.study.places import Place

MAIN_TABLE = "table1"
"""where the paper prints what an item has no table of its own for"""


@dataclass(frozen=True)
class Published:
    """A printed number; `std` is None where none is printed."""

    mean: float
    std: float | None


def published(item: str, metric: str, line: str, data: str, memory: int) -> Published | None:
    """A number of the paper: `published("table1", "AA", "bison", "split-cifar10", 200)`.

    A line is a method (`er`, `er + ncm`) or a line of the ablation (`w/o PAF`); FINE-TUNE has no
    memory, so any will do.
    """
    cells = numbers().get(f"{item} {metric}", {}).get(data, {})
    found = cells.get("0" if line == REFERENCE else str(memory), {}).get(line)
    return None if found is None else Published(*found)


def printed(item: str, metric: str, line: str | None, place: Place) -> Published | None:
    """What the paper prints for a line at a place, if it is about the same data and stream.

    It is looked for in the item's own table, or where there is none in the main one.
    """
    data, options, stream, memory = place
    table = source(item, metric)
    streams = {(cell.data, cell.stream) for cell in ITEMS[table].cells}
    if line is None or options != "{}" or (data, stream) not in streams:
        return None
    return published(table, metric, line, data, memory)


def source(item: str, metric: str) -> str:
    """The item in whose table the paper prints a metric."""
    return item if f"{item} {metric}" in numbers() else MAIN_TABLE


def lines(item: str, metric: str, data: str) -> list[str]:
    """The lines of a table on one dataset, as printed from top to bottom."""
    cells = numbers().get(f"{item} {metric}", {}).get(data, {})
    return list(dict.fromkeys(line for column in cells.values() for line in column))


@cache
def numbers() -> dict[str, Any]:
    """Table, dataset, memory, line: mean and standard deviation."""
    text = files("bison_ocl.report.study").joinpath("paper.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)["tables"]
    return found

"""The paper's numbers as printed, in percent: what ours stand beside."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from bison_ocl.experiments.intransigence import REFERENCE


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


def lines(item: str, metric: str, data: str) -> list[str]:
    """The lines of a table on one dataset, as printed from top to bottom."""
    cells = numbers().get(f"{item} {metric}", {}).get(data, {})
    return list(dict.fromkeys(line for column in cells.values() for line in column))


@cache
def numbers() -> dict[str, Any]:
    """Table, dataset, memory, line: mean and standard deviation."""
    text = files("bison_ocl.report").joinpath("paper.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)["tables"]
    return found

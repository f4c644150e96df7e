"""Records as a table: mean ± standard deviation over seeds, in percent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from bison_ocl.evaluate.metrics import (
    IntransigenceSpread,
    Spread,
    accuracy_curve,
    intransigence_spread,
    spread,
)
from bison_ocl.experiments.intransigence import with_intransigence
from bison_ocl.experiments.records import Record


@dataclass(frozen=True)
class Row:
    """One method in one cell, over its seeds."""

    method: str
    data: str
    memory: int
    AA: Spread
    AF: Spread
    AF_table: Spread
    AI: IntransigenceSpread | None
    curve: list[Spread]
    """AA after each task"""


def rows(records: Sequence[Record]) -> list[Row]:
    """One row for each method, dataset, memory and settings, in order of appearance."""
    groups: dict[str, list[Record]] = {}
    for record in with_intransigence(records):
        cell = [record[key] for key in ("method", "data", "memory", "settings")]
        groups.setdefault(json.dumps(cell, sort_keys=True), []).append(record)
    return [row(group) for group in groups.values()]


def row(group: Sequence[Record]) -> Row:
    first = group[0]
    matrices, references = [r["accuracy"] for r in group], [r["reference"] for r in group]
    curves = np.array([accuracy_curve(matrix) for matrix in matrices])
    return Row(
        first["method"],
        first["data"],
        first["memory"],
        AA=over(group, "AA"),
        AF=over(group, "AF"),
        AF_table=over(group, "AF_table"),
        AI=None if None in references else intransigence_spread(matrices, references),
        curve=[spread(column) for column in curves.T],
    )


def over(group: Sequence[Record], metric: str) -> Spread:
    """A metric over the runs of a group."""
    return spread([record["metrics"][metric] for record in group])


def percent(mean: float, std: float | None) -> str:
    """`81.2 ± 1.3`; without ± for a single seed."""
    return f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}")


def table(records: Sequence[Record]) -> Table:
    """AA ↑ is accuracy at the end; AF ↓ forgetting, in both conventions; AI ↓ intransigence."""
    found = Table("method", "data", "memory", box=None, pad_edge=False, header_style="bold")
    for name in ("AA %", "AF %", "AF_table %", "AI %", "n"):
        found.add_column(name, justify="right", no_wrap=True)
    for line in rows(records):
        three = [percent(x.mean, x.std) for x in (line.AA, line.AF, line.AF_table)]
        ai = "–" if line.AI is None else percent(line.AI.mean, line.AI.std_over_runs)
        found.add_row(line.method, line.data, str(line.memory), *three, ai, str(line.AA.n))
    return found


def show(records: Sequence[Record]) -> None:
    """Print the table to standard output."""
    console = Console(highlight=False)
    width = None if console.is_terminal else max(console.width, 120)
    console.print(table(records), width=width)

"""A record as trackers take it: settings, curves, final metrics, files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bison_ocl.experiments.records.record import (
    Anytime,
    Environment,
    Losses,
    Matrix,
    Record,
    as_values,
)
from bison_ocl.experiments.records.spec import Spec

Settings = dict[str, str | int | float | bool]

Curve = list[tuple[int, float]]
"""Pairs of a step, or of a task counted from 1, and a value."""


@dataclass(frozen=True)
class LoggedRecord:
    """The contents of a record for a tracker."""

    name: str
    """unique to this record: repeating the run gives another name"""
    settings: Settings
    curves: dict[str, Curve]
    finals: dict[str, float]
    line: str
    """of results.jsonl"""
    model: Path | None


def logged_record(record: Record, models: Path | None = None) -> LoggedRecord:
    """A record for a tracker, with its model if the folder holds one."""
    model = models / f"{record.name}.safetensors" if models else None
    line = json.dumps(as_values(record), sort_keys=True)
    return LoggedRecord(
        name=f"{record.name}-{hashlib.sha256(line.encode()).hexdigest()[:8]}",
        settings=described(record, record.environment, record.commit),
        curves=curves_of(record.accuracy, record.log, record.losses, record.anytime),
        finals=finals_of(record),
        line=line,
        model=model if model and model.exists() else None,
    )


def described(spec: Spec, environment: Environment, commit: str | None) -> Settings:
    """Identity and provenance of a run as one flat dictionary."""
    identity = {name: getattr(spec, name) for name in ("method", "data", "memory", "seed")}
    rest = {"stream": spec.stream, "precision": spec.precision, "commit": commit}
    values = identity | spec.settings | spec.data_options | rest | vars(environment)
    plain = (str, int, float, bool)
    return {name: one if isinstance(one, plain) else str(one) for name, one in values.items()}


def curves_of(
    matrix: Matrix,
    log: Sequence[dict[str, float | None]],
    losses: Losses | None,
    anytime: Anytime | None,
) -> dict[str, Curve]:
    """Loss per step; accuracies and the method's log (α and η for BISON) per finished task."""
    so_far = [sum(row[:done]) / done for done, row in enumerate(matrix, 1)]
    curves = {
        "loss": without_gaps(losses.steps, losses.loss) if losses else [],
        "anytime/accuracy": without_gaps(anytime.steps, anytime.accuracy) if anytime else [],
        "by_task/accuracy": by_task(so_far),
    }
    for task in range(len(matrix)):
        of_task = [row[task] if after >= task else None for after, row in enumerate(matrix)]
        curves[f"accuracy_of_task/{task + 1:02}"] = by_task(of_task)
    for name in dict.fromkeys(name for entry in log for name in entry):
        curves[f"by_task/{name}"] = by_task([entry.get(name) for entry in log])
    return {name: curve for name, curve in curves.items() if curve}


def by_task(values: Sequence[Any]) -> Curve:
    return without_gaps(list(range(1, len(values) + 1)), values)


def without_gaps(steps: Sequence[int], values: Sequence[Any]) -> Curve:
    """A curve without missing or diverged values."""
    pairs = zip(steps, values, strict=True)
    return [(step, float(value)) for step, value in pairs if value is not None]


def finals_of(record: Record) -> dict[str, float]:
    """The metrics of every inference rule, and the times."""
    groups = {"final": vars(record.metrics), "timing": vars(record.timing)}
    groups |= {f"final_{rule}": vars(found.metrics) for rule, found in record.also.items()}
    return {
        f"{group}/{name}": float(value)
        for group, found in groups.items()
        for name, value in found.items()
        if value is not None
    }

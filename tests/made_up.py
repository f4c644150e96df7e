"""A record that no run left behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bison_ocl.experiments.records.record import Environment, Metrics, Record, Timing

ONE = Record(
    method="er",
    data="split-digits",
    memory=20,
    seed=0,
    settings={},
    class_order=[1, 0],
    accuracy=[[1.0, 0.0], [0.5, 1.0]],
    metrics=Metrics(AA=0.75, AF=0.5, AF_table=0.25),
    also={},
    log=[{}, {}],
    timing=Timing(0.5, 0.25, 0.75, 1.0),
    environment=Environment("abacus", 1),
    commit=None,
)


def record(**changes: Any) -> Record:
    return replace(ONE, **changes)

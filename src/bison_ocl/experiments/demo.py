"""The demo: three methods on embedded digits, a table and a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bison_ocl.experiments.bar import say, watching
from bison_ocl.experiments.runner import Job, run

DATA, MEMORY = "split-digits", 100
METHODS = ("finetune", "er", "bison")


def train_all(out: Path, seeds: Sequence[int]) -> list[dict[str, object]]:
    """The records of every method, trained or found finished."""
    return [
        record
        for method in METHODS
        for record in run(Job(method, DATA, MEMORY, seeds, {}, out, resume=True), watching, say)
    ]

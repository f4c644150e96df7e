"""The demo: three methods on embedded digits, a table and a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch

from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.terminal.bar import watching
from bison_ocl.experiments.terminal.show import say
from bison_ocl.experiments.train.runner import Job, run

DATA, MEMORY = "split-digits", 100
METHODS = ("finetune", "er", "bison")
THREADS = 2
"""the same on every machine: results vary by points with the number of threads"""


def train_all(out: Path, seeds: Sequence[int]) -> list[Record]:
    """The records of every method, trained or found finished."""
    with threads(THREADS):
        return [
            record
            for method in METHODS
            for record in run(Job(method, DATA, MEMORY, seeds, {}, out, resume=True), watching, say)
        ]


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Let PyTorch compute with this number of threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)

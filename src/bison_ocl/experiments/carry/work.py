"""A unit of work, how it went, and what an engine is: whoever carries units out, here or elsewhere.

A unit is a Job with a folder of its own, so that it can be tried again, here or on another machine.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch

from bison_ocl.errors import UserError, shortage
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.train.runner import Job, run


@dataclass(frozen=True)
class Outcome:
    """What became of a unit: the records of its finished seeds, and why some are missing."""

    job: Job
    records: list[Record]
    error: str | None = None
    """in one line"""
    trace: str | None = None
    """where in the source it happened, unless it was bad input"""


Started = Callable[[Job], None]
Done = Callable[[Outcome], None]

Carry = Callable[[Sequence[Job], Started, Done], None]
"""An engine with its options. It carries out units in any order; each is started, maybe more than
once, and done once. Both are called in the process and thread that called the engine."""


class Unwatched:
    """Shows nothing: whoever started the unit shows that it runs."""

    def stepped(self, task: int, step: int) -> None:
        pass

    def tested(self, task: int, accuracy: float) -> None:
        pass


def attempt(job: Job) -> Outcome:
    """Carry out a unit in this process, from where it was interrupted; errors become an outcome.

    On CPU with one thread: the last bits of a result depend on their number.
    """
    if job.device == "cpu":
        torch.set_num_threads(1)
    job = replace(job, resume=True)
    try:
        return Outcome(job, run(job, lambda _: nullcontext(Unwatched()), lambda _: None))
    except UserError as error:
        return Outcome(job, finished(job), str(error))
    except Exception as error:
        text = shortage(error) or f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Outcome(job, finished(job), text, traceback.format_exc())


def finished(job: Job) -> list[Record]:
    """What a unit that failed had done before."""
    try:
        return [record for record in records.whole(job.results) if record.seed in job.seeds]
    except UserError:  # the file is what failed
        return []

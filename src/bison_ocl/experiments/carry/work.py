"""Units of work, their outcomes, and the interface of engines that carry them out.

A unit is a Job with a folder of its own, so that any machine can retry it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from bison_ocl.errors import UserError, shortage
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.tracking.run_update import OnUpdate, with_updates
from bison_ocl.experiments.train.run import Run, Watcher
from bison_ocl.experiments.train.runner import Job, Watch, run


@dataclass(frozen=True)
class Outcome:
    """The result of a unit: records of finished seeds, and an error if some are missing."""

    job: Job
    records: list[Record]
    error: str | None = None
    """in one line"""
    trace: str | None = None
    """the traceback, unless it was bad input"""


Started = Callable[[Job], None]
Done = Callable[[Outcome], None]


class Carry(Protocol):
    """An engine with its options.

    It carries out units in any order and calls `started` at least once and `done` once per unit,
    and `on_update` whenever a run pauses, all in the process and thread of its caller.
    """

    def __call__(
        self,
        jobs: Sequence[Job],
        started: Started,
        done: Done,
        *,
        on_update: OnUpdate | None = None,
    ) -> None: ...


def unwatched(run: Run) -> AbstractContextManager[Watcher]:
    """Show nothing of a run: the caller shows the unit as a whole."""
    return nullcontext(Watcher())


def attempt(job: Job, on_update: OnUpdate | None = None, watch: Watch = unwatched) -> Outcome:
    """Carry out or resume a unit in this process; errors become an outcome.

    On a CPU with one thread: rounding depends on the number of threads.
    """
    if job.device == "cpu":
        torch.set_num_threads(1)
    job = replace(job, resume=True)
    try:
        watch = with_updates(watch, on_update) if on_update else watch
        return Outcome(job, run(job, watch, lambda _: None))
    except UserError as error:
        return Outcome(job, finished(job), str(error))
    except Exception as error:
        text = shortage(error) or f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Outcome(job, finished(job), text, traceback.format_exc())


def finished(job: Job) -> list[Record]:
    """The records that a failed unit finished."""
    try:
        return [record for record in records.read_complete(job.results) if record.seed in job.seeds]
    except UserError:  # the results file itself is broken
        return []

"""A unit of work, how it went, and what an engine is: whoever carries units out, here or elsewhere.

A unit is a Job with a folder of its own, so that it can be tried again, here or on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from bison_ocl.errors import UserError
from bison_ocl.experiments.records import Record
from bison_ocl.experiments.runner import Job, run


@dataclass(frozen=True)
class Outcome:
    """What became of a unit: the records of all its seeds, or why there are none."""

    job: Job
    records: list[Record]
    error: str | None = None


Started = Callable[[Job], None]
Done = Callable[[Outcome], None]


class Engine(Protocol):
    """Carries out units in any order; each is started, maybe more than once, and done once.

    `started` and `done` are called in the process and thread that called the engine.
    """

    def __call__(
        self, jobs: Sequence[Job], started: Started, done: Done, **options: Any
    ) -> None: ...


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
        return Outcome(job, [], str(error))
    except Exception as error:
        return Outcome(job, [], f"{type(error).__name__}: {error}")

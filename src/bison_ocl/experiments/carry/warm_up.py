"""Warm a process up for timings, with two tasks of a run that is discarded.

The first task builds what its steps need; from the second on, a step also has past classes. Later
tasks have nothing new to build.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bison_ocl.experiments.carry.work import attempt
from bison_ocl.experiments.train.run import Watcher
from bison_ocl.experiments.train.runner import Job


class Warm(Exception):
    """The second task is learned and tested."""


class TwoTasks(Watcher):
    """Ends a run by an exception."""

    def tested(self, task: int, accuracy: float) -> None:
        if task == 1:
            raise Warm


def warm_up_with(job: Job) -> None:
    """Train two tasks of the first run of a unit; an error comes again with the unit itself."""
    with TemporaryDirectory() as folder:
        one = replace(job, seeds=job.seeds[:1], out=Path(folder))
        attempt(one, watch=lambda run: nullcontext(TwoTasks()))

"""Carries out units on this machine: processes of one thread each, or one process with a GPU."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory

from bison_ocl.data import load
from bison_ocl.experiments.runner import Job
from bison_ocl.experiments.work import Done, Outcome, Started, attempt

# A process begun by fork could not use a GPU, and would inherit the threads of its parent's torch.
context = multiprocessing.get_context("spawn")


def carry_out(
    jobs: Sequence[Job],
    started: Started,
    done: Done,
    *,
    processes: int = 1,
    warm_up: bool = False,
) -> None:
    """Give units to processes; one that dies costs the unit it worked on, and is replaced.

    `warm_up`: before a unit, its first run once for nothing, as timings ask for.
    """
    open_datasets(jobs)
    waiting, crew = deque(jobs), [Worker() for _ in range(min(processes, len(jobs)))]
    try:
        for worker in crew:
            started(worker.begin(waiting.popleft(), warm_up))
        while crew:
            ready = wait([worker.pipe for worker in crew])
            for worker in [worker for worker in crew if worker.pipe in ready]:
                outcome = worker.outcome()
                done(outcome)
                if outcome.error is not None or not waiting:
                    worker.end()  # an error may leave a process, or its GPU, in any state
                    crew.remove(worker)
                if not waiting:
                    continue
                if worker not in crew:
                    crew.append(worker := Worker())
                started(worker.begin(waiting.popleft(), warm_up))
    finally:
        for worker in crew:
            worker.end()


def open_datasets(jobs: Sequence[Job]) -> None:
    """Find and cache all data before the first step: what is missing is said once."""
    for name, folder in dict.fromkeys((job.data, job.data_dir) for job in jobs):
        options = next(job.data_options for job in jobs if job.data == name)
        load(name, folder, **options)


def cores() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Worker:
    """A process that carries out one unit at a time."""

    def __init__(self) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def begin(self, job: Job, warm_up: bool) -> Job:
        self.job = job
        self.pipe.send((job, warm_up))
        return job

    def outcome(self) -> Outcome:
        """What it sent, or that it died."""
        try:
            found: Outcome = self.pipe.recv()
            return found
        except (EOFError, OSError):
            self.process.join()
            return Outcome(self.job, [], f"its process ended with status {self.process.exitcode}")

    def end(self) -> None:
        """At once: whatever it does is taken up again from its last checkpoint."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(pipe: Connection) -> None:
    """The life of a worker: units in, outcomes out, until its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends this one
    threading.Thread(target=end_with_parent, daemon=True).start()
    while True:
        job, warm_up = pipe.recv()
        if warm_up:
            for_nothing(job)
        pipe.send(attempt(job))


def end_with_parent() -> None:
    """A worker whose parent was killed must not write beside the workers of the next."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def for_nothing(job: Job) -> None:
    """The first run of a unit, thrown away."""
    with TemporaryDirectory() as folder:
        attempt(replace(job, seeds=job.seeds[:1], out=Path(folder)))

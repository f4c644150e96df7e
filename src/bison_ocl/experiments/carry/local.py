"""Carries out units on this machine: processes of one thread each, or one process with a GPU."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory

from bison_ocl.data import load
from bison_ocl.errors import UserError
from bison_ocl.experiments.carry.work import Done, Outcome, Started, attempt
from bison_ocl.experiments.train.runner import Job
from bison_ocl.stream.streams import canonical

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
    crew = [Worker() for _ in range(min(processes, len(jobs)))]
    waiting = deque(replace(job, share=1 / len(crew)) for job in jobs)
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
    """Find and cache all data before the first step: what is missing is said once, all of it."""
    missing: list[str] = []
    for job in {(job.data, job.data_dir, job.stream): job for job in jobs}.values():
        try:
            canonical(job.stream, load(job.data, job.data_dir, **job.data_options))
        except UserError as error:
            missing.append(str(error))
    if missing:
        raise UserError("; ".join(dict.fromkeys(missing)))


def usual_processes(device: str) -> int:
    """One for each core; on a GPU one, which trains seeds together."""
    return 1 if device == "cuda" else cores()


def cores() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Worker:
    """A process that carries out one unit at a time."""

    def __init__(self) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        with ctrl_c_ignored():  # it reaches every process of a terminal; the parent ends this one
            self.process.start()
        theirs.close()

    def begin(self, job: Job, warm_up: bool) -> Job:
        self.job = job
        with suppress(OSError):  # it died: `outcome` will say so
            self.pipe.send((job, warm_up))
        return job

    def outcome(self) -> Outcome:
        """What it sent, or that it died."""
        try:
            found: Outcome = self.pipe.recv()
            return found
        except (EOFError, OSError):
            self.process.join()
            return Outcome(self.job, [], cause_of_death(self.process.exitcode or 0))

    def end(self) -> None:
        """At once: whatever it does is taken up again from its last checkpoint."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def cause_of_death(status: int) -> str:
    """What ended a process, from its exit status."""
    if status >= 0:
        return f"its process ended with status {status}"
    name = signal.Signals(-status).name
    hint = ", as Linux does where memory runs out" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{hint}"


@contextmanager
def ctrl_c_ignored() -> Iterator[None]:
    """Processes that begin meanwhile ignore it for good."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def serve(pipe: Connection) -> None:
    """The life of a worker: units in, outcomes out, until its parent ends."""
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

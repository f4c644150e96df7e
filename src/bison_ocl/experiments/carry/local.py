"""Engine that runs units on this machine: single-threaded processes, or one with a GPU."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait

from bison_ocl.data import load
from bison_ocl.errors import UserError
from bison_ocl.experiments.carry.warm_up import warm_up_with
from bison_ocl.experiments.carry.work import Done, Outcome, Started, attempt
from bison_ocl.experiments.tracking.run_update import OnUpdate, RunUpdate
from bison_ocl.experiments.train.runner import Job
from bison_ocl.stream.streams import canonical

# A forked process could not use a GPU, and would inherit the torch threads of its parent.
context = multiprocessing.get_context("spawn")


def carry_out(
    jobs: Sequence[Job],
    started: Started,
    done: Done,
    *,
    on_update: OnUpdate | None = None,
    processes: int = 1,
    warm_up: bool = False,
    go_on: Callable[[], bool] = lambda: True,
) -> None:
    """Distribute units to processes; a process that dies fails its unit and is replaced.

    `warm_up`: train and discard two tasks of each unit beforehand, for stable timings.
    `go_on`: whether units may still start; asked when one ends.
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
                message = worker.received()
                if isinstance(message, RunUpdate):
                    if on_update:
                        on_update(message)
                    continue
                done(message)
                if not go_on():
                    waiting.clear()
                if not waiting or message.error is not None:
                    worker.end()  # an error may leave the process or its GPU in any state
                    crew.remove(worker)
                    if not waiting:
                        continue
                    crew.append(worker := Worker())
                started(worker.begin(waiting.popleft(), warm_up))
    finally:
        for worker in crew:
            worker.end()


def open_datasets(jobs: Sequence[Job]) -> None:
    """Open and cache all datasets before the first step; one error lists all that are missing."""
    missing: list[str] = []
    for job in {(job.data, job.data_dir, job.stream): job for job in jobs}.values():
        try:
            canonical(job.stream, load(job.data, job.data_dir, **job.data_options))
        except UserError as error:
            missing.append(str(error))
    if missing:
        raise UserError("; ".join(dict.fromkeys(missing)))


class Worker:
    """A process that carries out one unit at a time."""

    def __init__(self) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        with ctrl_c_ignored():  # Ctrl-C reaches every process of a terminal; the parent ends this
            self.process.start()
        theirs.close()

    def begin(self, job: Job, warm_up: bool) -> Job:
        self.job = job
        with suppress(OSError):  # the process died: `received` reports it
            self.pipe.send((job, warm_up))
        return job

    def received(self) -> Outcome | RunUpdate:
        """An update of a run or an outcome; if the process died, an outcome that says so."""
        try:
            message: Outcome | RunUpdate = self.pipe.recv()
            return message
        except (EOFError, OSError):
            self.process.join()
            return Outcome(self.job, [], cause_of_death(self.process.exitcode or 0))

    def end(self) -> None:
        """Kill the process; its unit can resume from the last checkpoint."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def cause_of_death(status: int) -> str:
    """Why a process ended, from its exit status."""
    if status >= 0:
        return f"its process ended with status {status}"
    name = signal.Signals(-status).name
    hint = ", which Linux sends when memory runs out" if name == "SIGKILL" else ""
    return f"its process was killed by {name}{hint}"


@contextmanager
def ctrl_c_ignored() -> Iterator[None]:
    """Let processes that start inside the block ignore Ctrl-C for good."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def serve(pipe: Connection) -> None:
    """The loop of a worker: receive units, send updates and outcomes, until the parent ends."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    while True:
        job, warm_up = pipe.recv()
        if warm_up:
            warm_up_with(job)
        pipe.send(attempt(job, pipe.send))


def end_with_parent() -> None:
    """Exit with the parent: orphans must not write next to the workers of a new command."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)

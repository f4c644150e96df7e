"""Engine that runs units as Ray tasks and retries them if a node dies.

Every node needs the same version of this package, and the data: in --data-dir or in the node's own
data folder. If all nodes share the output folder, a unit resumes from its checkpoint on another
node; without a shared folder it restarts.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any
from uuid import uuid4

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry.work import Done, Outcome, Started, attempt
from bison_ocl.experiments.tracking.run_update import OnUpdate, RunUpdate
from bison_ocl.experiments.train.runner import Job
from bison_ocl.files.durable import check_writable

RETRIES = 5
"""of a unit whose process or node died; an error in the unit itself would only recur"""

PATIENCE = 10.0
"""seconds for a cluster to answer"""

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # keeps a dead node's log out of the results
}
"""environment variables for Ray, set before its import; the user's own take precedence"""

SMALL = {"include_dashboard": False, "object_store_memory": 80 * 2**20}
"""options for Ray on this machine: about the smallest store it accepts, as records are small"""

MARK = ".coordinator"


def carry_out(
    jobs: Sequence[Job],
    started: Started,
    done: Done,
    *,
    on_update: OnUpdate | None = None,
    address: str | None = None,
) -> None:
    """Submit all units and pass on their outcomes; without an address, use this machine only."""
    ray = connected(address or os.environ.get("RAY_ADDRESS"))
    try:
        check_placeable(jobs, ray.cluster_resources())
        task, mark = ray.remote(unit), uuid4().hex
        running = {
            task.options(**needs(job)).remote(marked(job, mark), mark, on_update is not None): job
            for job in jobs
        }
        while running:
            (ready,), _ = ray.wait(list(running), num_returns=1)
            job = running[ready]
            try:
                message: Outcome | RunUpdate | None = ray.get(next(ready))
            except ray.exceptions.RayError as error:
                message = Outcome(job, [], f"Ray gave up: {in_one_line(error)}")
            if message is None:
                started(job)
            elif isinstance(message, RunUpdate):
                if on_update:
                    on_update(message)
            else:
                del running[ready]
                done(replace(message, job=job))
    finally:
        ray.shutdown()


def unit(job: Job, mark: str, updates: bool = False) -> Iterator[Outcome | RunUpdate | None]:
    """The work of a node: yield None at the start, updates of runs if asked, then the outcome."""
    yield None
    work = updates_and_outcome if updates else outcome_only
    if is_shared(job, mark):
        yield from work(job)
        return
    with TemporaryDirectory() as folder:
        yield from work(replace(job, out=Path(folder)))


def outcome_only(job: Job) -> Iterator[Outcome]:
    yield attempt(job)


def updates_and_outcome(job: Job) -> Iterator[Outcome | RunUpdate]:
    """The updates of a unit while it trains, in a thread of its own, and its outcome."""
    messages: SimpleQueue[Outcome | RunUpdate] = SimpleQueue()
    Thread(target=lambda: messages.put(attempt(job, messages.put)), daemon=True).start()
    while isinstance(message := messages.get(), RunUpdate):
        yield message
    yield message


def needs(job: Job) -> dict[str, Any]:
    """Resources and retries of a unit."""
    gpus = 0 if job.device == "cpu" else 1
    return {"num_cpus": 1, "num_gpus": gpus, "max_retries": RETRIES}


def marked(job: Job, mark: str) -> Job:
    """The unit with absolute paths; a mark in its folder shows a node whether it shares the folder.

    A node must not work in an unshared folder of that name: files left there would return as the
    result of a later run.
    """
    out = job.out.resolve()
    check_writable(out)
    (out / MARK).write_text(mark)
    return replace(job, out=out, data_dir=job.data_dir and job.data_dir.resolve())


def is_shared(job: Job, mark: str) -> bool:
    """Whether this node shares the folder that the coordinator marked."""
    try:
        return (job.out / MARK).read_text() == mark
    except OSError:
        return False


def connected(address: str | None) -> Any:
    """Ray, joined to a cluster or started on this machine."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise UserError("--engine ray needs Ray: pip install 'bison-ocl[cluster]'") from error
    where: dict[str, Any] = {"address": "local", **SMALL}  # else Ray joins any cluster it finds
    if address is not None:
        check_address(address)
        where = {"address": address}
    try:
        ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise UserError(
            f"cannot start Ray at {address or 'this machine'}: {in_one_line(error)}"
        ) from error
    return ray


def check_address(address: str) -> None:
    """Check from another process that Ray answers: `ray.init` would wait minutes, or forever."""
    if address.startswith("ray://"):
        raise UserError(
            f"{address}: run this on a node of the cluster, with --address HOST:PORT or auto"
        )
    question = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
    try:
        subprocess.run(question, check=True, capture_output=True, timeout=PATIENCE)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        message = f"no Ray cluster answers at {address}: start it, or correct --address"
        raise UserError(message) from error


def check_placeable(jobs: Sequence[Job], resources: dict[str, float]) -> None:
    """Refuse units that would wait forever for a GPU."""
    if any(needs(job)["num_gpus"] > resources.get("GPU", 0) for job in jobs):
        raise UserError("no node of the cluster has a GPU: add one, or use --device cpu")


def in_one_line(error: Exception) -> str:
    """Ray's message in one line: the last line of a traceback, else the first line."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    raised = "ray::" in lines[0] or "Traceback" in str(error)
    return lines[-1] if raised else lines[0]

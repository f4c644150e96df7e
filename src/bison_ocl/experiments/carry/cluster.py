"""Carries out units as Ray tasks: the same plan on a cluster, tried again where a node dies.

Every node needs this package, in the same version, and the data: in --data-dir, or where the node
itself looks for it. A folder that all nodes see lets a unit go on from its checkpoint elsewhere;
without one it begins anew.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from bison_ocl.errors import UserError
from bison_ocl.experiments.carry.work import Done, Outcome, Started, attempt
from bison_ocl.experiments.train.runner import Job
from bison_ocl.files.durable import check_writable

RETRIES = 5
"""of a unit whose process or node died; an error of its own would only come again"""

PATIENCE = 10.0
"""seconds for a cluster to answer"""

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # else a dead node's log is printed amid the results
}
"""What Ray is told before it is imported, unless the user has said otherwise."""

SMALL = {"include_dashboard": False, "object_store_memory": 80 * 2**20}
"""What Ray starts on this machine: about the least store it takes, for records are small."""

MARK = ".coordinator"


def carry_out(
    jobs: Sequence[Job], started: Started, done: Done, *, address: str | None = None
) -> None:
    """Submit all units and hand on what comes back; without an address, on this machine alone."""
    ray = connected(address or os.environ.get("RAY_ADDRESS"))
    try:
        check_placeable(jobs, ray.cluster_resources())
        task, mark = ray.remote(unit), uuid4().hex
        running = {task.options(**needs(job)).remote(marked(job, mark), mark): job for job in jobs}
        while running:
            (ready,), _ = ray.wait(list(running), num_returns=1)
            job = running[ready]
            try:
                found: Outcome | None = ray.get(next(ready))
            except ray.exceptions.RayError as error:
                found = Outcome(job, [], f"Ray gave it up: {in_one_line(error)}")
            if found is None:
                started(job)
            else:
                del running[ready]
                done(replace(found, job=job))
    finally:
        ray.shutdown()


def unit(job: Job, mark: str) -> Iterator[Outcome | None]:
    """What a node does: it says that it has begun, by None, and then how it went."""
    yield None
    if is_shared(job, mark):
        yield attempt(job)
        return
    with TemporaryDirectory() as folder:
        yield attempt(replace(job, out=Path(folder)))


def needs(job: Job) -> dict[str, Any]:
    """Where a unit may be placed, and how often."""
    gpus = 0 if job.device == "cpu" else 1
    return {"num_cpus": 1, "num_gpus": gpus, "max_retries": RETRIES}


def marked(job: Job, mark: str) -> Job:
    """The unit with absolute paths, its folder marked so that a node can tell whether it sees it.

    A node must not work in a folder of its own by that name: what stays in it would come back as
    the result of a later run.
    """
    out = job.out.resolve()
    check_writable(out)
    (out / MARK).write_text(mark)
    return replace(job, out=out, data_dir=job.data_dir and job.data_dir.resolve())


def is_shared(job: Job, mark: str) -> bool:
    """Whether this node sees the folder that the coordinator marked."""
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
    where: dict[str, Any] = {"address": "local", **SMALL}  # without "local" it joins any it finds
    if address is not None:
        check_address(address)
        where = {"address": address}
    try:
        ray.init(**where, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise UserError(f"cannot join Ray at {address or 'home'}: {in_one_line(error)}") from error
    return ray


def check_address(address: str) -> None:
    """Ask for an answer from outside: `ray.init` itself would wait for minutes, or for ever."""
    if address.startswith("ray://"):
        raise UserError(f"{address}: start this on a node of the cluster, with HOST:PORT or auto")
    question = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
    try:
        subprocess.run(question, check=True, capture_output=True, timeout=PATIENCE)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        message = f"no Ray cluster answers at {address}: is it up, and is this its address?"
        raise UserError(message) from error


def check_placeable(jobs: Sequence[Job], resources: dict[str, float]) -> None:
    """Refuse what would wait for ever."""
    if any(needs(job)["num_gpus"] > resources.get("GPU", 0) for job in jobs):
        raise UserError("no node of the cluster has a GPU: add one, or use --device cpu")


def in_one_line(error: Exception) -> str:
    """What Ray says without what it tells about itself; what a task raised ends in the reason."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    raised = "ray::" in lines[0] or "Traceback" in str(error)
    return lines[-1] if raised else lines[0]

"""Overhead of a plan: planning, skipping, recording, distribution to processes.

    python -m benchmarks.schedule [--units 2]

- overhead: `table1`, 1,290 runs, carried out by an engine that trains nothing, then again when all
  of it is finished; and through real processes, whose units find their run finished already;
- `bison-ocl reproduce table1 --plan` as a command, before anything is there and when all is;
- throughput of two one-thread processes over that of one, `--units` split-digits runs for each.

Writes benchmarks/schedule.json. On a busy machine the last figure says nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bison_ocl.experiments.carry import local
from bison_ocl.experiments.carry.reproduce import reproduce
from bison_ocl.experiments.carry.work import Carry, Done, Outcome, Started
from bison_ocl.experiments.plan.machine import usual_processes
from bison_ocl.experiments.plan.paper import Cell
from bison_ocl.experiments.plan.plan import Wanted, plan
from bison_ocl.experiments.plan.units import job_of, specs
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.experiments.records.record import Losses, Metrics, Record, Scores, Timing
from bison_ocl.experiments.tracking.run_update import OnUpdate
from bison_ocl.experiments.train.runner import Job

RESULT = Path(__file__).with_name("schedule.json")
TASKS = 10


class Nobody:
    def started(self, job: Job) -> None:
        pass

    def done(self, outcome: Outcome) -> None:
        assert outcome.error is None, outcome.error


@contextmanager
def unseen(jobs: Sequence[Job]) -> Iterator[Nobody]:
    yield Nobody()


def made_up(job: Job) -> list[Record]:
    """Records of the size that real ones have."""
    matrix = [[0.5] * TASKS] * TASKS
    metrics = Metrics(AA=0.5, AF=0.1, AF_table=0.1)
    return [
        Record(
            **vars(spec),
            class_order=list(range(100)),
            accuracy=matrix,
            metrics=metrics,
            also={rule: Scores(matrix, metrics) for rule in job.also},
            log=[{"alpha": 0.5}] * TASKS,
            losses=Losses(list(range(100)), [0.123456] * 100),
            timing=Timing(0.9, 0.1, 1.0, 1.0),
            environment=environment("cpu"),
            commit=None,
        )
        for spec in specs(job)
    ]


def training_nothing(
    jobs: Sequence[Job], started: Started, done: Done, *, on_update: OnUpdate | None = None
) -> None:
    for job in jobs:
        started(job)
        job.out.mkdir(parents=True)
        done(Outcome(job, made_up(job)))


class FindingItFinished:
    """Real processes: each unit reads that its run is finished, and says so."""

    def __call__(
        self,
        jobs: Sequence[Job],
        started: Started,
        done: Done,
        *,
        on_update: OnUpdate | None = None,
    ) -> None:
        for job in jobs:
            for record in made_up(job):
                records.append(job.results, record)
        times: list[float] = []

        def timed(outcome: Outcome) -> None:
            done(outcome)
            times.append(time.perf_counter())

        local.carry_out(jobs, started, timed, processes=usual_processes("cpu"))
        self.seconds_a_unit = (times[-1] - times[0]) / (len(times) - 1)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def carried(out: Path, engine: Carry, wanted: Wanted) -> None:
    """Plan table1 and carry it out."""
    assert not reproduce(plan("table1", wanted), out, False, engine, unseen, lambda text: None)


def command(out: Path) -> float:
    words = [str(Path(sys.executable).parent / "bison-ocl"), "reproduce", "table1", "--plan"]
    run = partial(subprocess.run, [*words, "--out", str(out)], check=True, capture_output=True)
    return min(seconds(run) for _ in range(3))


def processes_over_one(units: int) -> dict[str, float]:
    """Seconds for the same units by one process and by two."""
    took, load = {}, os.getloadavg()[0]
    for processes in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            cell = Cell("er", "split-digits", 100)
            jobs = [job_of(cell, [seed], Path(folder) / str(seed)) for seed in range(2 * units)]
            work = partial(
                local.carry_out, jobs, lambda job: None, Nobody().done, processes=processes
            )
            took[processes] = seconds(work)
    return {
        "runs": 2 * units,
        "one_process_s": took[1],
        "two_processes_s": took[2],
        "speed_up": took[1] / took[2],
        "load_before": load,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        fresh = command(out)
        runs = plan("table1").runs
        first = seconds(partial(carried, out, training_nothing, Wanted()))
        again = seconds(partial(carried, out, training_nothing, Wanted()))
        finished = command(out)
        through = FindingItFinished()
        carried(Path(folder) / "processes", through, Wanted(data=["split-digits"]))
    found = {
        "what": __doc__.splitlines()[0] if __doc__ else "",
        "overhead": {
            "runs": runs,
            "plan_and_record_ms_a_run": 1e3 * first / runs,
            "plan_and_skip_ms_a_run": 1e3 * again / runs,
            "hand_to_process_and_record_ms_a_run": 1e3 * through.seconds_a_unit,
        },
        "plan_command_s": {"nothing_there": fresh, "all_finished": finished},
        "processes": processes_over_one(asked.units),
        "environment": vars(environment("cpu")),
        "commit": commit(),
    }
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

"""Plans in this process: for tests of what surrounds training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bison_ocl.experiments.carry.reproduce import reproduce
from bison_ocl.experiments.carry.work import Done, Outcome, Started, attempt
from bison_ocl.experiments.plan.plan import Plan
from bison_ocl.experiments.train.runner import Job

SETTINGS = (("filters", "1"), ("stream_batch", "20"))


class Quiet:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.begun: list[Job] = []
        self.outcomes: list[Outcome] = []

    def started(self, job: Job) -> None:
        self.begun.append(job)

    def done(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


def one_by_one(jobs: Sequence[Job], started: Started, done: Done) -> None:
    """The simplest engine."""
    for job in jobs:
        started(job)
        done(attempt(job))


class Carried:
    """Carries out plans in a folder and remembers what was trained for each."""

    def __init__(self, out: Path) -> None:
        self.out, self.said = out, ""

    def __call__(
        self, plan: Plan, engine: Any = one_by_one, **options: Any
    ) -> tuple[list[Outcome], list[Outcome]]:
        """All outcomes, and those that failed."""
        board, said = Quiet(), []

        @contextmanager
        def show(jobs: Sequence[Job]) -> Iterator[Quiet]:
            yield board

        together = options.pop("together", plan.item.alone)
        failed = reproduce(plan, self.out, together, engine, show, said.append, **options)
        self.said = "\n".join(said)
        return board.outcomes, failed

    def lines(self, item: str) -> list[str]:
        return (self.out / item / "results.jsonl").read_text().splitlines()

"""Progress of a plan: a live table in a terminal, lines in logs and pipes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bison_ocl.experiments.carry.work import Outcome
from bison_ocl.experiments.plan.costs import cost, lasting
from bison_ocl.experiments.terminal.show import console
from bison_ocl.experiments.train.runner import Job


@contextmanager
def showing(jobs: Sequence[Job]) -> Iterator[Board]:
    """Show units while an engine carries them out."""
    board = Board(jobs)
    if not console.is_terminal:
        yield board
        return
    with Live(get_renderable=board.picture, console=console, refresh_per_second=2, transient=True):
        yield board


class Board:
    """Running, finished and failed units, and the estimated time left."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.total, self.finished, self.failed = len(jobs), 0, 0
        self.running: dict[str, tuple[Job, float]] = {}
        self.left = sum(weight(job) for job in jobs)
        """the cost of the units not done yet"""
        self.spent, self.done_cost = 0.0, 0.0
        """total seconds and total cost of the finished units"""

    def started(self, job: Job) -> None:
        self.running[name_of(job)] = (job, time.monotonic())

    def done(self, outcome: Outcome) -> None:
        job, start = self.running.pop(name_of(outcome.job), (outcome.job, time.monotonic()))
        seconds = time.monotonic() - start
        self.left -= weight(job)
        if outcome.error is None:
            self.finished += 1
            self.spent, self.done_cost = self.spent + seconds, self.done_cost + weight(job)
        else:
            self.failed += 1
        self.say(job, outcome, seconds)

    def say(self, job: Job, outcome: Outcome, seconds: float) -> None:
        """Print one line per unit; in a terminal it scrolls above the table."""
        if outcome.error is not None:
            text = f"failed: {title(job)}: {outcome.error}"
        else:
            found = [record.metrics.AA for record in outcome.records]
            text = f"{title(job)}  AA {100 * sum(found) / len(found):.1f} %  {lasting(seconds)}"
        console.print(f"{text}  ({self.summary()})", markup=False, soft_wrap=True)

    def summary(self) -> str:
        counts = f"{self.finished + self.failed} of {self.total} done"
        failed = f", {self.failed} failed" if self.failed else ""
        left = self.seconds_left()
        return counts + failed + ("" if left is None else f", about {lasting(left)} left")

    def seconds_left(self) -> float | None:
        """Estimate from the remaining cost and the pace so far; None without a finished unit."""
        if not self.done_cost or self.finished + self.failed == self.total:
            return None
        now, pace = time.monotonic(), self.spent / self.done_cost
        under_way = sum(min(now - at, pace * weight(job)) for job, at in self.running.values())
        return max(0.0, pace * self.left - under_way) / max(1, len(self.running))

    def picture(self) -> RenderableType:
        """The live table."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("running", "since"):
            table.add_column(column)
        now = time.monotonic()
        for job, start in list(self.running.values()):
            table.add_row(Text(title(job)), lasting(now - start))
        return Group(Text(self.summary()), table)  # a low terminal may not fit all rows


def name_of(job: Job) -> str:
    return str(job.out)


def weight(job: Job) -> float:
    return len(job.seeds) * cost(job.method, job.data, job.memory, job.settings)


def title(job: Job) -> str:
    """A short description of a unit."""
    seeds = ",".join(map(str, job.seeds))
    settings = "".join(f" {name}={value}" for name, value in job.settings.items())
    return f"{job.method}{settings}  {job.data}  memory {job.memory}  seed {seeds}"

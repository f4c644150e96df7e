"""Progress of a run: a live bar in a terminal, one line per task elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from bison_ocl.experiments.terminal.lines import Lines, title
from bison_ocl.experiments.terminal.show import console
from bison_ocl.experiments.train.run import Run, Watcher

SHOWN_EVERY = 0.1
"""seconds between updates: moving the bar takes longer than a step on a GPU"""


@contextmanager
def watching(run: Run) -> Iterator[Watcher]:
    """Show a run while it is trained."""
    if not console.is_terminal:
        yield Lines(run)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[accuracy]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        yield Bar(run, progress)


class Bar(Watcher):
    """The live bar: task, step, time left, accuracy after the last finished task."""

    def __init__(self, run: Run, progress: Progress) -> None:
        self.run, self.progress = run, progress
        done = run.progress.step
        name = self.named(min(run.progress.task, run.stream.tasks - 1))
        self.shown = time.monotonic()
        self.id = progress.add_task(name, total=run.steps, completed=done, accuracy="AA –")

    def named(self, task: int) -> str:
        return f"{title(self.run)}  task {task + 1}/{self.run.stream.tasks}"

    def stepped(self, task: int, step: int) -> None:
        now = time.monotonic()
        if now - self.shown >= SHOWN_EVERY:
            self.shown = now
            self.progress.update(self.id, completed=step, description=self.named(task))

    def tested(self, task: int, accuracy: float) -> None:
        self.progress.update(
            self.id,
            completed=self.run.progress.step,
            description=self.named(task),
            accuracy=f"AA {100 * accuracy:.1f} %",
        )

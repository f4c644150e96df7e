"""Progress of a run in logs and pipes: one line per task, in plain Python."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bison_ocl.experiments.train.run import Run, Watcher


def title(run: Run) -> str:
    """Method and seed; for runs trained together, those of the first and the number of others."""
    others = f" and {run.together - 1} more" if run.together and run.together > 1 else ""
    return f"{run.spec.method} seed {run.spec.seed}{others}"


class Lines(Watcher):
    """One line per task, for logs and pipes."""

    def __init__(self, run: Run) -> None:
        self.run, self.start, self.first = run, time.perf_counter(), run.progress.step

    def tested(self, task: int, accuracy: float) -> None:
        done, total = self.run.progress.step, self.run.steps
        spent = time.perf_counter() - self.start
        left = spent / max(1, done - self.first) * (total - done)
        print(
            f"{title(self.run)}  task {task + 1}/{self.run.stream.tasks}  step {done}/{total}  "
            f"AA {100 * accuracy:.1f} %  {spent:.0f} s, {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def in_lines(run: Run) -> Iterator[Watcher]:
    """Show a run line by line while it is trained."""
    yield Lines(run)

"""What trackers receive of a run that trains: its settings and its curves so far.

Made at pauses only, from numbers that the host already has: no step waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from bison_ocl.experiments.records.commit import commit
from bison_ocl.experiments.records.environment import environment
from bison_ocl.experiments.records.record import Anytime, Losses
from bison_ocl.experiments.tracking.logged_record import Curve, Settings, curves_of, described
from bison_ocl.experiments.train.loss_curve import Intervals
from bison_ocl.experiments.train.run import Run, Watcher


@dataclass(frozen=True)
class RunUpdate:
    """A run at a pause, small enough to travel from another process."""

    run: str
    """the name of the run, equal to that of its record"""
    settings: Settings
    curves: dict[str, Curve]
    """from the first step on, also of a run that was resumed"""


OnUpdate = Callable[[RunUpdate], None]


def update_of(run: Run) -> RunUpdate:
    """The settings of a run, and its curves up to the last pause."""
    progress = run.progress
    losses = Intervals(run.steps).curve(progress.losses)
    known = sum(end <= progress.step for end in losses.steps)
    return RunUpdate(
        run.spec.name,
        described(run.spec, environment(run.device), commit()),
        curves_of(
            run.accuracy(),
            progress.log,
            Losses(losses.steps[:known], losses.loss[:known]),
            Anytime(**progress.anytime),
        ),
    )


class UpdatingWatcher(Watcher):
    """Passes everything on to a watcher, and sends an update of every run at pauses."""

    def __init__(self, watcher: Watcher, on_update: OnUpdate) -> None:
        self.watcher, self.on_update = watcher, on_update

    def stepped(self, task: int, step: int) -> None:
        self.watcher.stepped(task, step)

    def tested(self, task: int, accuracy: float) -> None:
        self.watcher.tested(task, accuracy)

    def paused(self, runs: Sequence[Run]) -> None:
        self.watcher.paused(runs)
        for run in runs:
            self.on_update(update_of(run))


def with_updates(
    watch: Callable[[Run], AbstractContextManager[Watcher]], on_update: OnUpdate
) -> Callable[[Run], AbstractContextManager[Watcher]]:
    """`watch`, which also sends updates of the runs."""

    @contextmanager
    def watched(run: Run) -> Iterator[Watcher]:
        with watch(run) as watcher:
            yield UpdatingWatcher(watcher, on_update)

    return watched

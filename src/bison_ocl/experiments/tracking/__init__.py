"""Log runs to TensorBoard, MLflow or W&B while they train, each point once, for any engine."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from bison_ocl.errors import UserError, unknown
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.tracking.backend import Backend
from bison_ocl.experiments.tracking.logged_record import logged_record
from bison_ocl.experiments.tracking.run_log import RunLog

if TYPE_CHECKING:
    from bison_ocl.experiments.carry.work import Carry, Done, Outcome, Started
    from bison_ocl.experiments.tracking.run_update import OnUpdate, RunUpdate
    from bison_ocl.experiments.train.runner import Job

KINDS = ("tensorboard", "mlflow", "wandb")

REST = 60.0
"""seconds without another attempt after a tracker has failed"""


def tracker(choice: str, out: Path, say: Callable[[str], None]) -> Tracker:
    """The tracker for `--track`, checked: tensorboard[:FOLDER], mlflow[:URI] or wandb[:FOLDER]."""
    kind, _, place = choice.partition(":")
    if kind not in KINDS:
        raise UserError(unknown("choice for --track", kind, KINDS))
    backend = cast(Backend, import_module(f"{__name__}.{kind}"))
    place = place or backend.default(out)
    try:
        backend.check(place)
    except ImportError as error:
        message = f"--track {kind} needs more packages: pip install 'bison-ocl[tracking]'"
        raise UserError(message) from error
    return Tracker(backend, place, out, say)


class Tracker:
    """Logs runs to a backend; only the process of the command writes to it.

    If that fails, training goes on: one line says so, and nothing is written for a minute. What is
    missing then is written at the end, or when the command is repeated.
    """

    def __init__(self, backend: Backend, place: str, out: Path, say: Callable[[str], None]) -> None:
        self.backend, self.place, self.say = backend, place, say
        self.models = out / "models"
        self.suffix = hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:8]
        """distinguishes a run from the same one in another folder of results"""
        self.logs: dict[str, RunLog] = {}
        """of the runs that train, by name"""
        self.rests_until, self.warned = 0.0, False

    def update(self, update: RunUpdate) -> None:
        """Log the points of a run that are new; a run of an earlier command begins again."""
        self._attempt(lambda: self._update(update))

    def keep(self, record: Record) -> None:
        """Log a record, with its model if one was saved, unless it is logged already."""
        self._attempt(lambda: self._keep(record))

    def keep_all(self, records: Iterable[Record]) -> None:
        """Log records, also of earlier commands; logged ones are skipped."""
        self.rests_until = 0.0
        for record in records:
            self.keep(record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Close the logs of runs that did not finish."""
        self._attempt(self._stop)

    def _update(self, update: RunUpdate) -> None:
        if update.run not in self.logs:
            name = self._unfinished(update.run)
            self.logs[update.run] = self.backend.begin(name, update.settings, self.place)
        self.logs[update.run].add(update.curves)

    def _keep(self, record: Record) -> None:
        logged = logged_record(record, self.models)
        if record.name in self.logs:
            log = self.logs[record.name]
            log.add(logged.curves)
            log.finish(logged)
            del self.logs[record.name]
        elif not self.backend.is_kept(logged.name, self.place):
            self.backend.discard(self._unfinished(record.name), self.place)
            self.backend.keep(logged, self.place)

    def _unfinished(self, run: str) -> str:
        """The name of a run's log until its record is there."""
        return f"{run}-{self.suffix}"

    def _stop(self) -> None:
        while self.logs:
            self.logs.popitem()[1].stop()

    def _attempt(self, work: Callable[[], None]) -> None:
        """Do a piece of work unless one has just failed; a failure is one line."""
        if time.monotonic() < self.rests_until:
            return
        try:
            work()
        except Exception as error:  # trackers are programs of others, and so are their errors
            self.rests_until = time.monotonic() + REST
            with suppress(Exception):
                self._stop()
            self.logs = {}
            if not self.warned:
                why = " ".join(str(error).split()) or type(error).__name__
                self.say(f"warning: {why}; runs go on: repeat the command to log what is missing")
            self.warned = True


def tracked(carry_out: Carry, tracking: Tracker) -> Carry:
    """An engine that also logs runs while they train, and each record as it arrives."""

    def carry(
        jobs: Sequence[Job], started: Started, done: Done, *, on_update: OnUpdate | None = None
    ) -> None:
        def finished(outcome: Outcome) -> None:
            done(outcome)
            for record in outcome.records:
                tracking.keep(record)

        def updated(update: RunUpdate) -> None:
            tracking.update(update)
            if on_update:
                on_update(update)

        carry_out(jobs, started, finished, on_update=updated)

    return carry

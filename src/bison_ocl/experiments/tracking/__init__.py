"""Log runs to TensorBoard, MLflow or W&B while they train, each point once, for any engine."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bison_ocl.errors import UserError, unknown
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.tracking.diary import Diary
from bison_ocl.experiments.tracking.story import story_of

if TYPE_CHECKING:
    from bison_ocl.experiments.carry.work import Carry, Done, Outcome, Started
    from bison_ocl.experiments.tracking.sight import Sight, Tell
    from bison_ocl.experiments.train.runner import Job

KINDS = ("tensorboard", "mlflow", "wandb")

REST = 60.0
"""seconds without another attempt after a tracker has failed"""


def tracker(choice: str, out: Path, say: Callable[[str], None]) -> Tracker:
    """The tracker for `--track`, checked: tensorboard[:FOLDER], mlflow[:URI] or wandb[:FOLDER]."""
    kind, _, place = choice.partition(":")
    if kind not in KINDS:
        raise UserError(unknown("choice for --track", kind, KINDS))
    keeper = import_module(f"{__name__}.{kind}")
    place = place or keeper.default(out)
    try:
        keeper.check(place)
    except ImportError as error:
        message = f"--track {kind} needs more packages: pip install 'bison-ocl[tracking]'"
        raise UserError(message) from error
    return Tracker(keeper, place, out, say)


class Tracker:
    """Passes runs on to where they are kept; the process that was asked to track does all of it.

    If that fails, training goes on: one line says so, and nothing is written for a minute. What is
    missing then is written at the end, or when the command is repeated.
    """

    def __init__(self, keeper: Any, place: str, out: Path, say: Callable[[str], None]) -> None:
        """keeper: one of the modules beside this one"""
        self.keeper, self.place, self.say = keeper, place, say
        self.models = out / "models"
        self.suffix = hashlib.sha256(str(out.resolve()).encode()).hexdigest()[:8]
        """tells a run apart from the same one in another folder of results"""
        self.diaries: dict[str, Diary] = {}
        """of the runs that train, by name"""
        self.rests_until, self.warned = 0.0, False

    def see(self, sight: Sight) -> None:
        """Log the points of a run that are new; a run of an earlier command begins again."""
        self._attempt(lambda: self._see(sight))

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

    def _see(self, sight: Sight) -> None:
        if sight.run not in self.diaries:
            name = f"{sight.run}-{self.suffix}"
            self.diaries[sight.run] = self.keeper.begin(name, sight.settings, self.place)
        self.diaries[sight.run].add(sight.curves)

    def _keep(self, record: Record) -> None:
        story = story_of(record, self.models)
        if record.name in self.diaries:
            diary = self.diaries[record.name]
            diary.add(story.curves)
            diary.finish(story)
            del self.diaries[record.name]
        elif not self.keeper.is_kept(story.name, self.place):
            self.keeper.keep(story, self.place)

    def _stop(self) -> None:
        while self.diaries:
            self.diaries.popitem()[1].stop()

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
            self.diaries = {}
            if not self.warned:
                why = " ".join(str(error).split()) or type(error).__name__
                self.say(f"warning: {why}; runs go on: repeat the command to log what is missing")
            self.warned = True


def tracked(carry_out: Carry, tracking: Tracker) -> Carry:
    """An engine that also logs runs while they train, and each record as it arrives."""

    def carry(
        jobs: Sequence[Job], started: Started, done: Done, *, tell: Tell | None = None
    ) -> None:
        def landed(outcome: Outcome) -> None:
            done(outcome)
            for record in outcome.records:
                tracking.keep(record)

        def told(sight: Sight) -> None:
            tracking.see(sight)
            if tell:
                tell(sight)

        carry_out(jobs, started, landed, tell=told)

    return carry

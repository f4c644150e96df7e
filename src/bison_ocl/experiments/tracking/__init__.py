"""Log finished runs to TensorBoard, MLflow or W&B, each record once, for any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bison_ocl.errors import UserError, unknown
from bison_ocl.experiments.records.record import Record
from bison_ocl.experiments.tracking.story import story_of

if TYPE_CHECKING:
    from bison_ocl.experiments.carry.work import Carry, Done, Outcome, Started
    from bison_ocl.experiments.train.runner import Job

KINDS = ("tensorboard", "mlflow", "wandb")

Track = Callable[[Record], None]


def tracker(choice: str, out: Path) -> Track:
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
    return partial(track, kind=kind, place=place, models=out / "models")


def track(record: Record, kind: str, place: str, models: Path | None = None) -> None:
    """Log a record, with its model if one was saved, unless it is logged already."""
    keeper = import_module(f"{__name__}.{kind}")
    keeper.keep(story_of(record, models), place)


def track_all(records: Iterable[Record], track: Track) -> None:
    """Log records, also of earlier commands; logged ones are skipped."""
    for record in records:
        track(record)


def tracked(carry_out: Carry, track: Track) -> Carry:
    """An engine that also logs each record as it arrives."""

    def carry(jobs: Sequence[Job], started: Started, done: Done) -> None:
        def landed(outcome: Outcome) -> None:
            done(outcome)
            with suppress(UserError):  # an unreachable server must not stop the sweep
                track_all(outcome.records, track)

        carry_out(jobs, started, landed)

    return carry

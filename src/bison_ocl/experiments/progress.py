"""How far a run has come: where it stands and what it measured so far, as a checkpoint keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from bison_ocl.checkpoint import Header
from bison_ocl.experiments.loss_curve import Intervals
from bison_ocl.stream.tasks import Stream

Counts = list[list[int]]
"""a confusion matrix [C, C] in run ids"""


@dataclass(frozen=True)
class Progress:
    """Brought up to date when a run pauses: at tests, checkpoints and ends of tasks."""

    task: int = 0
    batch: int = 0
    step: int = 0
    confusions: list[Counts] = field(default_factory=list)
    """after each task"""
    also: dict[str, list[Counts]] = field(default_factory=dict)
    """the same by other inference rules, on the same network"""
    log: list[dict[str, float | None]] = field(default_factory=list)
    train_seconds: float = 0.0
    """spent on steps; of runs trained together, each one's share"""
    test_seconds: float = 0.0
    anytime: dict[str, list[Any]] = field(default_factory=lambda: {"steps": [], "accuracy": []})
    """where tasks overlap, what tests on the way found"""
    losses: list[float] = field(default_factory=list)
    """sums of the training loss over intervals of steps"""
    refused: int = 0
    """steps whose loss or update was not finite"""
    peak_megabytes: float | None = None
    """of GPU memory; of runs trained together, each one's share"""


def progress_of(said: Header, stream: Stream, batch: int) -> Progress:
    """What a checkpoint says of a run on a stream, refused where it cannot be.

    Earlier versions kept less: what is missing stays as a run begins with it.
    """
    kept = said.by_name()
    progress = Progress(**{f.name: kept[f.name] for f in fields(Progress) if f.name in kept})
    tasks = [stream.steps(task, batch) for task in range(stream.tasks)]
    task = Header(progress.task, "task").whole(most=len(tasks))
    at = Header(progress.batch, "batch").whole(most=([*tasks, 0])[task])
    said.check(progress.step == sum(tasks[:task]) + at)
    also = Header(progress.also, "also").by_name()
    for name, found in {"confusions": progress.confusions, **also}.items():
        matrices = Header(found, name).items()
        said.check(len(matrices) == task)
        for matrix in matrices:
            check_counts(matrix, stream.dataset.classes)
    log = Header(progress.log, "log").items()
    said.check(len(log) == task and all(isinstance(entry.value, dict) for entry in log))
    steps, accuracy = (
        Header(progress.anytime, "anytime")[n].items() for n in ("steps", "accuracy")
    )
    said.check(len(steps) == len([x.number() for x in accuracy]))
    for x in steps:
        x.whole()
    losses = Header(progress.losses, "losses").items()
    said.check(len(losses) in (0, len(Intervals(sum(tasks)).ends)))
    said.check(all(isinstance(x.value, float) for x in losses))
    for name in ("train_seconds", "test_seconds"):
        Header(getattr(progress, name), name).number()
    Header(progress.refused, "refused").whole(most=progress.step)
    if progress.peak_megabytes is not None:
        Header(progress.peak_megabytes, "peak_megabytes").number()
    return progress


def check_counts(matrix: Header, classes: int) -> None:
    """A confusion matrix of so many classes."""
    rows = [row.items() for row in matrix.items()]
    matrix.check(len(rows) == classes and all(len(row) == classes for row in rows))
    for row in rows:
        for count in row:
            count.whole()

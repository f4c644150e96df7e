"""Progress of a run: its position and measurements so far, as kept in a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from bison_ocl.experiments.records.record import Counts
from bison_ocl.experiments.train.loss_curve import Intervals
from bison_ocl.files.checkpoint import Header
from bison_ocl.stream.tasks import Stream


@dataclass(frozen=True)
class Progress:
    """Position and measurements, updated at tests, checkpoints and ends of tasks."""

    task: int = 0
    batch: int = 0
    step: int = 0
    confusions: list[Counts] = field(default_factory=list)
    """after each task"""
    also: dict[str, list[Counts]] = field(default_factory=dict)
    """the same by other readouts of the network"""
    log: list[dict[str, float | None]] = field(default_factory=list)
    train_seconds: float = 0.0
    """spent on steps; runs trained together share the time equally"""
    test_seconds: float = 0.0
    anytime: dict[str, list[Any]] = field(default_factory=lambda: {"steps": [], "accuracy": []})
    """anytime accuracy, for overlapping tasks"""
    losses: list[float] = field(default_factory=list)
    """sums of the training loss over intervals of steps"""
    refused: int = 0
    """steps whose loss or update was not finite"""
    peak_megabytes: float | None = None
    """of GPU memory; runs trained together share it equally"""


def progress_of(header: Header, stream: Stream, batch: int) -> Progress:
    """The progress in a checkpoint, refused if it is impossible on this stream.

    Fields that earlier versions did not keep have their initial values.
    """
    known = {field.name for field in fields(Progress)}
    kept = {name: value for name, value in header.by_name().items() if name in known}
    steps = [stream.steps(task, batch) for task in range(stream.tasks)]
    check_place(Header({"task": 0, "batch": 0, "step": 0} | kept), steps)
    progress = Progress(**kept)
    check_measured(Header(vars(progress)), stream.dataset.classes, sum(steps))
    return progress


def check_place(place: Header, steps: list[int]) -> None:
    """Refuse a position outside the stream."""
    task = place["task"].whole(most=len(steps))
    batch = place["batch"].whole(most=[*steps, 0][task])
    place["step"].check(place["step"].whole() == sum(steps[:task]) + batch)


def check_measured(progress: Header, classes: int, steps: int) -> None:
    """Refuse measurements that do not match the finished tasks."""
    tasks = progress["task"].whole()
    for name, matrices in {
        "confusions": progress["confusions"].value,
        **progress["also"].by_name(),
    }.items():
        after_tasks = Header(matrices, name)
        after_tasks.check(len(after_tasks.items()) == tasks)
        for matrix in after_tasks.items():
            check_counts(matrix, classes)
    progress["log"].check(len([entry.by_name() for entry in progress["log"].items()]) == tasks)
    anytime = progress["anytime"]
    steps_tested = [step.whole() for step in anytime["steps"].items()]
    anytime.check(len(steps_tested) == len([x.number() for x in anytime["accuracy"].items()]))
    losses = progress["losses"].items()
    progress["losses"].check(len(losses) in (0, len(Intervals(steps).ends)))
    progress["losses"].check(all(isinstance(loss.value, float) for loss in losses))
    progress["refused"].whole(most=steps)
    for name in ("train_seconds", "test_seconds"):
        progress[name].number()
    if progress["peak_megabytes"].value is not None:
        progress["peak_megabytes"].number()


def check_counts(matrix: Header, classes: int) -> None:
    """Refuse a confusion matrix of another number of classes."""
    rows = [[count.whole() for count in row.items()] for row in matrix.items()]
    matrix.check(len(rows) == classes and all(len(row) == classes for row in rows))

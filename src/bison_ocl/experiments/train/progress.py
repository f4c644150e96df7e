"""Progress of a run: its position and measurements so far, as kept in a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from bison_ocl.experiments.train.loss_curve import Intervals
from bison_ocl.files.checkpoint import Header
from bison_ocl.stream.tasks import Stream

Counts = list[list[int]]
"""a confusion matrix [C, C] in run ids"""


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


def progress_of(said: Header, stream: Stream, batch: int) -> Progress:
    """The progress in a checkpoint, refused if it is impossible on this stream.

    Fields that earlier versions did not keep have their initial values.
    """
    known = {field.name for field in fields(Progress)}
    kept = {name: value for name, value in said.by_name().items() if name in known}
    steps = [stream.steps(task, batch) for task in range(stream.tasks)]
    check_place(Header({"task": 0, "batch": 0, "step": 0} | kept), steps)
    progress = Progress(**kept)
    check_measured(Header(vars(progress)), stream.dataset.classes, sum(steps))
    return progress


def check_place(said: Header, steps: list[int]) -> None:
    """Refuse a position outside the stream."""
    task = said["task"].whole(most=len(steps))
    batch = said["batch"].whole(most=[*steps, 0][task])
    said["step"].check(said["step"].whole() == sum(steps[:task]) + batch)


def check_measured(said: Header, classes: int, steps: int) -> None:
    """Refuse measurements that do not match the finished tasks."""
    tasks = said["task"].whole()
    for name, matrices in {
        "confusions": said["confusions"].value,
        **said["also"].by_name(),
    }.items():
        found = Header(matrices, name)
        found.check(len(found.items()) == tasks)
        for matrix in found.items():
            check_counts(matrix, classes)
    said["log"].check(len([entry.by_name() for entry in said["log"].items()]) == tasks)
    tested, accuracy = said["anytime"]["steps"].items(), said["anytime"]["accuracy"].items()
    said["anytime"].check(len([n.whole() for n in tested]) == len([x.number() for x in accuracy]))
    losses = said["losses"].items()
    said["losses"].check(len(losses) in (0, len(Intervals(steps).ends)))
    said["losses"].check(all(isinstance(loss.value, float) for loss in losses))
    said["refused"].whole(most=steps)
    for name in ("train_seconds", "test_seconds"):
        said[name].number()
    if said["peak_megabytes"].value is not None:
        said["peak_megabytes"].number()


def check_counts(matrix: Header, classes: int) -> None:
    """Refuse a confusion matrix of another number of classes."""
    rows = [[count.whole() for count in row.items()] for row in matrix.items()]
    matrix.check(len(rows) == classes and all(len(row) == classes for row in rows))

"""The stream of a run: its tasks, their images in order, and the run's own class ids.

A run numbers classes by first appearance, like a learner without prior knowledge; `order` maps its
ids back to the dataset's. It depends on the seed, never on the method.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.errors import UserError
from bison_ocl.rng import key_of, permutation


@dataclass(frozen=True)
class Stream:
    """A dataset divided into tasks."""

    dataset: Dataset
    order: tuple[int, ...]
    """the dataset's id of each class of the run"""
    task_of_class: tuple[int, ...]
    """the task in which each class of the run first appears"""
    images: tuple[Tensor, ...]
    """indices of the training images of each task, in order of arrival"""
    home_of_class: tuple[int, ...] | None = None
    """the home task of each class of the run, if tasks share classes"""

    @property
    def tasks(self) -> int:
        return len(self.images)

    @property
    def overlapping(self) -> bool:
        """Whether tasks may share classes: then anytime accuracy is measured too."""
        return self.home_of_class is not None

    @property
    def column_of_class(self) -> tuple[int, ...]:
        """The column j of the matrix a[k][j] for each class of the run."""
        return self.task_of_class if self.home_of_class is None else self.home_of_class

    @property
    def classes_of_tasks(self) -> list[int]:
        """The number of classes of each task, by column of the matrix a[k][j]."""
        return [self.column_of_class.count(task) for task in range(self.tasks)]

    def steps(self, task: int, size: int) -> int:
        """The number of batches of a task; the last one may be short."""
        return -(-len(self.images[task]) // size)

    def batches(self, task: int, size: int, start: int = 0) -> Iterator[Batch]:
        """The batches of a task, from number `start` on; every image once."""
        for stacked in side_by_side([self], task, size, start):
            yield Batch(stacked.x[0], stacked.y[0])

    def test(self, task: int) -> Batch:
        """Test images of every class seen by the end of a task."""
        return self.test_of_first(sum(first <= task for first in self.task_of_class))

    def test_of_first(self, classes: int) -> Batch:
        """Test images of the first classes of the run."""
        labels = self.dataset.test.y
        wanted = torch.isin(labels, torch.tensor(self.order[:classes], device=labels.device))
        test = self.dataset.test[wanted]
        return Batch(test.x, self.numbered(test.y))

    def numbered(self, labels: Tensor) -> Tensor:
        """The run's class ids of dataset ids."""
        return self._numbers.to(labels.device)[labels]

    @cached_property
    def _numbers(self) -> Tensor:
        """The run's id of each class of the dataset."""
        numbers = torch.empty(self.dataset.classes, dtype=torch.int64)
        numbers[list(self.order)] = torch.arange(len(self.order))
        return numbers


def side_by_side(
    streams: Sequence[Stream], task: int, size: int, start: int = 0
) -> Iterator[Batch]:
    """Batches [S, B, ...] of a task of streams over one dataset, from number `start` on.

    Indices and labels are moved to the images' device once; then a batch is one gather for all
    streams, and on a GPU the host never waits.
    """
    train, runs = streams[0].dataset.train, len(streams)
    images = [stream.images[task].to(train.y.device) for stream in streams]
    pairs = zip(streams, images, strict=True)
    labels = torch.stack([stream.numbered(train.y[index]) for stream, index in pairs])
    index = batch_after_batch(torch.stack(images), size).to(train.x.device)
    labels = batch_after_batch(labels, size).to(train.x.device)
    for at in range(start * size * runs, len(index), size * runs):
        now = slice(at, at + size * runs)
        x, y = train.x.index_select(0, index[now]), labels[now]
        yield Batch(x.view(runs, -1, *x.shape[1:]), y.view(runs, -1))


def batch_after_batch(values: Tensor, size: int) -> Tensor:
    """Values [S, n] as one row [S · n] with each batch of all streams contiguous."""
    return torch.cat([batch.flatten() for batch in torch.split(values, size, dim=1)])


def shuffled_classes(dataset: Dataset, seed: int) -> Tensor:
    """All classes in the random order of a seed, equal for every shuffled stream."""
    return permutation(key_of(seed, 0, "class order"), dataset.classes)


def equal_groups(classes: Tensor, tasks: int) -> tuple[Tensor, ...]:
    """Classes divided into tasks in order; the first tasks get any remaining classes."""
    if not 1 <= tasks <= len(classes):
        raise UserError(f"{tasks} tasks: expected 1 to {len(classes)}, the number of classes")
    return torch.tensor_split(classes, tasks)


def disjoint(
    dataset: Dataset, seed: int, groups: Sequence[Tensor], kept: Tensor | None = None
) -> Stream:
    """One task per group of classes. kept: mask of the images to use; None for all"""
    labels = dataset.train.y.cpu()
    usable = torch.ones_like(labels, dtype=torch.bool) if kept is None else kept
    images = [
        mixed((torch.isin(labels, group) & usable).nonzero()[:, 0], seed, task)
        for task, group in enumerate(groups)
    ]
    return in_order_of_appearance(dataset, images)


def mixed(images: Tensor, seed: int, task: int) -> Tensor:
    """The images of a task in the random order of a seed."""
    return images[permutation(key_of(seed, task, "stream"), len(images))]


def in_order_of_appearance(
    dataset: Dataset, images: Sequence[Tensor], homes: Mapping[int, int] | None = None
) -> Stream:
    """Number the classes as they arrive. homes: the home task per class, if tasks share them"""
    labels = dataset.train.y.cpu()
    first: dict[int, int] = {}
    for task, index in enumerate(images):
        for label in labels[index].tolist():
            first.setdefault(label, task)
    home = None if homes is None else tuple(homes[label] for label in first)
    return Stream(dataset, tuple(first), tuple(first.values()), tuple(images), home)

"""The stream of a run: which images arrive in which task and order, under the run's own class ids.

A run numbers classes by their first appearance, as a learner that knows nothing in advance would;
`order` maps its numbers back to the dataset's. It depends on the seed, never on the method.
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
    """A dataset cut into tasks."""

    dataset: Dataset
    order: tuple[int, ...]
    """the dataset's id of each class of the run"""
    task_of_class: tuple[int, ...]
    """the task in which each class of the run first appears"""
    images: tuple[Tensor, ...]
    """for each task, the training images in the order they arrive"""
    home_of_class: tuple[int, ...] | None = None
    """where tasks share classes, the task that each class of the run is counted in"""

    @property
    def tasks(self) -> int:
        return len(self.images)

    @property
    def overlapping(self) -> bool:
        """Whether tasks may share classes: then accuracy is measured on the way too."""
        return self.home_of_class is not None

    @property
    def column_of_class(self) -> tuple[int, ...]:
        """The task whose accuracy each class of the run counts in: j of the matrix a[k][j]."""
        return self.task_of_class if self.home_of_class is None else self.home_of_class

    def steps(self, task: int, size: int) -> int:
        """Batches of a task; the last one may be short."""
        return -(-len(self.images[task]) // size)

    def batches(self, task: int, size: int, start: int = 0) -> Iterator[Batch]:
        """The batches of a task, from number `start` on; every image once."""
        for stacked in side_by_side([self], task, size, start):
            yield Batch(stacked.x[0], stacked.y[0])

    def test(self, task: int) -> Batch:
        """Test images of every class met up to the end of a task."""
        return self.test_of_first(sum(first <= task for first in self.task_of_class))

    def test_of_first(self, classes: int) -> Batch:
        """Test images of so many classes, the first the run has met."""
        labels = self.dataset.test.y
        wanted = torch.isin(labels, torch.tensor(self.order[:classes], device=labels.device))
        test = self.dataset.test[wanted]
        return Batch(test.x, self.numbered(test.y))

    def numbered(self, labels: Tensor) -> Tensor:
        """The dataset's class ids as the run's."""
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

    Indices and labels are made and moved to where the images are once; then a batch is one gather
    for all streams, and on a GPU the host waits for nothing.
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
    """[S, n] as one row in which each batch of all streams is in one piece [S · n]"""
    return torch.cat([batch.flatten() for batch in torch.split(values, size, dim=1)])


def shuffled_classes(dataset: Dataset, seed: int) -> Tensor:
    """All classes in the random order of a seed, the same for every stream that shuffles them."""
    return permutation(key_of(seed, 0, "class order"), dataset.classes)


def equal_groups(classes: Tensor, tasks: int) -> tuple[Tensor, ...]:
    """Classes cut into tasks in the order given; the first tasks get one more where it is odd."""
    if not 1 <= tasks <= len(classes):
        raise UserError(f"{len(classes)} classes cannot be cut into {tasks} tasks")
    return torch.tensor_split(classes, tasks)


def disjoint(
    dataset: Dataset, seed: int, groups: Sequence[Tensor], kept: Tensor | None = None
) -> Stream:
    """One task for each group of classes. kept: mask of the images the stream uses, or all."""
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
    """Number the classes as they arrive. homes: the task of each class where tasks share them."""
    labels = dataset.train.y.cpu()
    first: dict[int, int] = {}
    for task, index in enumerate(images):
        for label in labels[index].tolist():
            first.setdefault(label, task)
    home = None if homes is None else tuple(homes[label] for label in first)
    return Stream(dataset, tuple(first), tuple(first.values()), tuple(images), home)

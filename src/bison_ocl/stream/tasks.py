"""The stream of a run: which images arrive in which task and order, under the run's own class ids.

A run numbers classes by their first appearance, as a learner that knows nothing in advance would;
`order` maps its numbers back to the dataset's. It depends on the seed, never on the method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.rng import key_of, permutation
from bison_ocl.stream.dataset import Dataset


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

    @property
    def tasks(self) -> int:
        return len(self.images)

    def steps(self, task: int, size: int) -> int:
        """Batches of a task; the last one may be short."""
        return -(-len(self.images[task]) // size)

    def batches(self, task: int, size: int, start: int = 0) -> Iterator[Batch]:
        """The batches of a task, from number `start` on; every image once."""
        for index in torch.split(self.images[task], size)[start:]:
            yield self._relabelled(self.dataset.train[index])

    def test(self, task: int) -> Batch:
        """Test images of every class met up to the end of a task."""
        met = [c for c, first in zip(self.order, self.task_of_class, strict=True) if first <= task]
        labels = self.dataset.test.y
        wanted = torch.isin(labels, torch.tensor(met, device=labels.device))
        return self._relabelled(self.dataset.test[wanted])

    def _relabelled(self, batch: Batch) -> Batch:
        number = torch.empty(self.dataset.classes, dtype=torch.int64)
        number[list(self.order)] = torch.arange(len(self.order))
        return Batch(batch.x, number.to(batch.y.device)[batch.y])


def class_incremental(dataset: Dataset, seed: int) -> Stream:
    """Disjoint tasks of equally many classes, in a class order shuffled by seed (paper, §5.1)."""
    shuffled = permutation(key_of(seed, 0, "class order"), dataset.classes)
    groups = torch.tensor_split(shuffled, dataset.tasks)
    labels = dataset.train.y.cpu()
    images = tuple(
        mixed(torch.isin(labels, group).nonzero()[:, 0], seed, task)
        for task, group in enumerate(groups)
    )
    return in_order_of_appearance(dataset, images)


def mixed(images: Tensor, seed: int, task: int) -> Tensor:
    """The images of a task in the random order of a seed."""
    return images[permutation(key_of(seed, task, "stream"), len(images))]


def in_order_of_appearance(dataset: Dataset, images: Sequence[Tensor]) -> Stream:
    """Number the classes as they arrive."""
    labels = dataset.train.y.cpu()
    first: dict[int, int] = {}
    for task, index in enumerate(images):
        for label in labels[index].tolist():
            first.setdefault(label, task)
    return Stream(dataset, tuple(first), tuple(first.values()), tuple(images))

"""Tasks that share classes, such as blurry:disjoint=50,spill=10 (percent; the default).

Koh et al. 2022, i-Blurry-N-M: `disjoint` (N) % of classes stay in one task, others spill.
A blurry class has a home task and spills `spill` (M) % of its images, dealt evenly to all other
tasks. The authors' own files pool the spilled images of all classes and deal them to every task,
the home included, so that M · (T − 1) / T % leave home there.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.data.dataset import Dataset
from bison_ocl.rng import key_of, permutation
from bison_ocl.stream.parameters import check
from bison_ocl.stream.tasks import (
    Stream,
    equal_groups,
    in_order_of_appearance,
    mixed,
    shuffled_classes,
)

RANGES = {"disjoint": (0.0, 100.0), "spill": (0.0, 100.0)}


def blurry(dataset: Dataset, seed: int, disjoint: float = 50.0, spill: float = 10.0) -> Stream:
    """The class order of the class-incremental stream, with images of blurry classes moved."""
    check(RANGES, disjoint=disjoint, spill=spill)
    groups = equal_groups(shuffled_classes(dataset, seed), dataset.tasks)
    homes = {label: task for task, group in enumerate(groups) for label in group.tolist()}
    labels = dataset.train.y.cpu()
    arrival = torch.tensor([homes[label] for label in range(dataset.classes)])[labels]
    for label in blurry_classes(groups, disjoint):
        away = spilled((labels == label).nonzero()[:, 0], label, seed, spill)
        arrival[away] = elsewhere(homes[label], len(groups), len(away))
    images = [mixed((arrival == task).nonzero()[:, 0], seed, task) for task in range(len(groups))]
    return in_order_of_appearance(dataset, images, homes)


def blurry_classes(groups: tuple[Tensor, ...], disjoint: float) -> list[int]:
    """The classes that spill; the disjoint ones are spread evenly over tasks."""
    solid = share(sum(len(group) for group in groups), disjoint)
    evenly = torch.tensor_split(torch.arange(solid), len(groups))
    pairs = zip(groups, evenly, strict=True)
    return [label for group, some in pairs for label in group[len(some) :].tolist()]


def spilled(images: Tensor, label: int, seed: int, percent: float) -> Tensor:
    """The images of a class that leave its home, chosen by seed."""
    order = permutation(key_of(seed, label, "spill"), len(images))
    return images[order[: share(len(images), percent)]]


def elsewhere(home: int, tasks: int, images: int) -> Tensor:
    """The tasks after home, in turn, wrapping around without home itself [images]"""
    return (home + 1 + torch.arange(images) % max(1, tasks - 1)) % tasks


def share(whole: int, percent: float) -> int:
    """A percentage of a number, rounded half up."""
    return int(whole * percent / 100 + 0.5)

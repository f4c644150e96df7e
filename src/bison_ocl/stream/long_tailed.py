"""Class-incremental with few images of most classes, such as long-tailed:factor=100 (default).

Cui et al. 2019 (class sizes); Liu et al. 2022 (long-tailed class-incremental learning, shuffled).
`factor` is the ratio of the largest to the smallest class size. Images beyond a class's size are
left out; all test images stay.
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.data.dataset import Dataset
from bison_ocl.rng import key_of, permutation
from bison_ocl.stream.parameters import check
from bison_ocl.stream.tasks import Stream, disjoint, equal_groups, shuffled_classes

RANGES = {"factor": (1.0, 10_000.0)}


def long_tailed(dataset: Dataset, seed: int, factor: float = 100.0) -> Stream:
    """The class order of the class-incremental stream, with class sizes that decay."""
    check(RANGES, factor=factor)
    groups = equal_groups(shuffled_classes(dataset, seed), dataset.tasks)
    return disjoint(dataset, seed, groups, tail(dataset, seed, factor))


def tail(dataset: Dataset, seed: int, factor: float) -> Tensor:
    """Mask of the training images that stay, chosen by seed up to each class's size [N]"""
    labels = dataset.train.y.cpu()
    kept = torch.zeros_like(labels, dtype=torch.bool)
    for label, size in enumerate(sizes(labels, seed, factor, dataset.classes)):
        images = (labels == label).nonzero()[:, 0]
        chosen = permutation(key_of(seed, label, "tail"), len(images))[:size]
        kept[images[chosen]] = True
    return kept


def sizes(labels: Tensor, seed: int, factor: float, classes: int) -> list[int]:
    """n_max · factor^(−rank / (C − 1)) per class, at least 1; the seed shuffles the ranks."""
    largest = int(torch.bincount(labels, minlength=classes).max())
    rank = permutation(key_of(seed, 0, "class rank"), classes).tolist()
    return [max(1, round(largest * factor ** (-r / max(1, classes - 1)))) for r in rank]

"""One class at a time: as many tasks as classes, in an order shuffled by seed.

Wen, Heinis & Choi 2026, §5.1, cut as finely as it can be.
"""

from __future__ import annotations

import torch

from bison_ocl.data.dataset import Dataset
from bison_ocl.stream.tasks import Stream, disjoint, shuffled_classes


def one_class(dataset: Dataset, seed: int) -> Stream:
    """A task for each class."""
    return disjoint(dataset, seed, torch.split(shuffled_classes(dataset, seed), 1))

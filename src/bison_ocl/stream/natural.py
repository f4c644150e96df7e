"""Disjoint tasks of equally many classes, in the dataset's own order 0, 1, 2, …

Wen, Heinis & Choi 2026, §5.1, unshuffled; seeds differ only in the image order within a task.
"""

from __future__ import annotations

import torch

from bison_ocl.data.dataset import Dataset
from bison_ocl.stream.tasks import Stream, disjoint, equal_groups


def natural(dataset: Dataset, seed: int) -> Stream:
    """The dataset's number of tasks, with classes in natural order."""
    return disjoint(dataset, seed, equal_groups(torch.arange(dataset.classes), dataset.tasks))

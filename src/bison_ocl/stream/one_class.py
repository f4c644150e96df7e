"""One task per class, in an order shuffled by seed.

Wen, Heinis & Choi 2026, §5.1, in the smallest possible tasks.
"""

from __future__ import annotations

import torch

from bison_ocl.data.dataset import Dataset
from bison_ocl.stream.tasks import Stream, disjoint, shuffled_classes


def one_class(dataset: Dataset, seed: int) -> Stream:
    """One task per class."""
    return disjoint(dataset, seed, torch.split(shuffled_classes(dataset, seed), 1))

"""Disjoint tasks of equally many classes, in a class order shuffled by seed; the default.

Wen, Heinis & Choi 2026 (BISON), §5.1.
"""

from __future__ import annotations

from bison_ocl.data.dataset import Dataset
from bison_ocl.stream.tasks import Stream, disjoint, equal_groups, shuffled_classes


def class_incremental(dataset: Dataset, seed: int) -> Stream:
    """The dataset's number of tasks, with shuffled classes."""
    groups = equal_groups(shuffled_classes(dataset, seed), dataset.tasks)
    return disjoint(dataset, seed, groups)

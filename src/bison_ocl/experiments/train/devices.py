"""Data, clock and memory of a device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.engine.execution import is_cuda

ROOM = 0.5
"""fraction of the free memory that the images of a split may take"""


def resident(dataset: Dataset, device: str) -> Dataset:
    """The dataset with its images on the device, for each split that fits."""

    def there(split: Batch) -> Batch:
        if size_of(split) > ROOM * free_bytes():
            return split
        return tree.map_leaves(lambda leaf: leaf.to(device), split)

    if torch.device(device).type == "cpu":
        return dataset
    return replace(dataset, train=there(dataset.train), test=there(dataset.test))


def size_of(value: object) -> int:
    """Bytes of a tree."""
    return sum(leaf.nbytes for leaf in tree.leaves(value))


def now(device: str) -> float:
    """The time after the device has finished all pending work."""
    if is_cuda(device):
        torch.cuda.synchronize(device)
    return time.perf_counter()


def free_bytes(share: float = 1.0) -> int:
    """GPU memory that this process may still allocate. share: its fraction of the total"""
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    return min(free, int(share * total) - torch.cuda.memory_allocated())


def reset_peak() -> None:
    """Measure the peak of GPU memory from here on."""
    torch.cuda.reset_peak_memory_stats()


def peak_megabytes(device: str) -> float | None:
    """Peak GPU memory of this process's tensors; None on a CPU."""
    return torch.cuda.max_memory_allocated(device) / 1e6 if is_cuda(device) else None


def peak_bytes(work: Callable[[], object]) -> int:
    """Peak GPU memory that a piece of work adds."""
    reset_peak()
    before = torch.cuda.memory_allocated()
    work()
    return torch.cuda.max_memory_allocated() - before

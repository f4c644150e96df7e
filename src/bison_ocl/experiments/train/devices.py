"""What a device is given and asked: data, the time, free memory."""

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
"""of the free memory, how much the images of a split may take"""


def resident(dataset: Dataset, device: str) -> Dataset:
    """The dataset with its images on the device, each split if there is room for it."""

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
    """The time, once the device has done all that it was asked to do."""
    if is_cuda(device):
        torch.cuda.synchronize(device)
    return time.perf_counter()


def free_bytes(share: float = 1.0) -> int:
    """Memory of the GPU that this process may still take. share: of all there is, in the end"""
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    return min(free, int(share * total) - torch.cuda.memory_allocated())


def forget_peak() -> None:
    """Measure the peak of the GPU's memory from here on."""
    torch.cuda.reset_peak_memory_stats()


def peak_megabytes(device: str) -> float | None:
    """The most memory that tensors of this process took on a GPU; None on a CPU."""
    return torch.cuda.max_memory_allocated(device) / 1e6 if is_cuda(device) else None


def peak_bytes(work: Callable[[], object]) -> int:
    """How much memory of the GPU a piece of work takes on top of what is held."""
    forget_peak()
    before = torch.cuda.memory_allocated()
    work()
    return torch.cuda.max_memory_allocated() - before

"""What a device is given, told and asked: data, number format, the time, free memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec

import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.errors import UserError
from bison_ocl.nets.precision import PRECISIONS, Precision

ROOM = 0.5
"""of the free memory, how much the images of a split may take"""


def is_cuda(device: str) -> bool:
    return torch.device(device).type == "cuda"


def has_kernels(device: str) -> bool:
    """Whether our own kernels run there: on a GPU with Triton, which PyTorch brings on Linux."""
    return is_cuda(device) and find_spec("triton") is not None


def resident(dataset: Dataset, device: str) -> Dataset:
    """The dataset with its images on the device, each split if there is room for it."""

    def there(split: Batch) -> Batch:
        if size_of(split) > ROOM * free_bytes():
            return split
        return tree.map_leaves(lambda leaf: leaf.to(device), split)

    if torch.device(device).type == "cpu":
        return dataset
    return replace(dataset, train=there(dataset.train), test=there(dataset.test))


def moved(batch: Batch, device: str) -> Batch:
    """The batch there; page-locked on its way to a GPU, so that the host need not wait."""
    if batch.x.device.type == torch.device(device).type:
        return batch
    return tree.map_leaves(lambda leaf: leaf.pin_memory().to(device, non_blocking=True), batch)


def size_of(value: object) -> int:
    """Bytes of a tree."""
    return sum(leaf.nbytes for leaf in tree.leaves(value))


def checked_precision(text: str) -> Precision:
    """The precision of that name, if there is one."""
    if text not in PRECISIONS:
        raise UserError(f"--precision {text}: choose tf32, bf16 or fp32")
    return text


def use_precision(precision: Precision) -> None:
    """Let convolutions in float32 round to TF32 on a GPU unless asked not to, and nothing else."""
    torch.backends.cudnn.allow_tf32 = precision != "fp32"
    torch.backends.cuda.matmul.allow_tf32 = False


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

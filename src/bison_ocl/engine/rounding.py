"""Rounding of float32 on a GPU: PyTorch keeps one choice for all threads of a process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from bison_ocl.nets.precision import Precision


class Rounding:
    """The choice while any thread needs it: the first to come sets it, the last to go restores.

    Threads that restored what each had found would undo the choice of others, and leave theirs.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = (False, False)

    @contextmanager
    def chosen(self, precision: Precision) -> Iterator[None]:
        """Inside the block only convolutions may round to TF32, and only if not fp32."""
        with self._lock:
            if self._inside == 0:
                self._before = flags()
            self._inside += 1
            set_flags(precision != "fp32", False)
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    set_flags(*self._before)


def flags() -> tuple[bool, bool]:
    """Whether convolutions and matrix products may round to TF32."""
    return torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32


def set_flags(convolutions: bool, products: bool) -> None:
    torch.backends.cudnn.allow_tf32 = convolutions
    torch.backends.cuda.matmul.allow_tf32 = products


ROUNDING = Rounding()
"""of this process"""

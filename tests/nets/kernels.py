"""The kernels where there is no GPU: Triton's interpreter, in a process of its own.

Triton decides when it is imported whether to interpret; the tests' own process must stay free to
import it otherwise.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import pytest
import torch

from bison_ocl import tree

Kernels = Callable[..., Any]
"""kernels("module.function", *arguments): what a function that launches kernels returns."""


def called(name: str, arguments: tuple[Any, ...]) -> Any:
    module, function = name.split(".")
    return getattr(import_module(f"bison_ocl.nets.kernels.{module}"), function)(*arguments)


@contextmanager
def interpreted() -> Iterator[Kernels]:
    """Kernels on the CPU, number by number."""
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed: its kernels cannot be interpreted")
    with ProcessPoolExecutor(1, get_context("spawn"), interpret_from_now_on) as process:
        yield lambda name, *arguments: unpacked(
            process.submit(work, name, packed(arguments)).result()
        )


def interpret_from_now_on() -> None:
    os.environ["TRITON_INTERPRET"] = "1"
    torch.set_num_threads(1)


def work(name: str, arguments: bytes) -> bytes:
    return packed(called(name, unpacked(arguments)))


def packed(value: Any) -> bytes:
    """Bytes, since tensors would travel between processes by shared memory."""
    held = io.BytesIO()
    torch.save(value, held)
    return held.getvalue()


def unpacked(value: bytes) -> Any:
    return torch.load(io.BytesIO(value), weights_only=True)


def on_gpu(name: str, *arguments: Any) -> Any:
    """Kernels as they are meant to run."""
    there = tree.map_leaves(lambda leaf: leaf.cuda(), arguments)
    return tree.map_leaves(lambda leaf: leaf.cpu(), called(name, there))

"""What tests of the kernels share: a way to run them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.nets.kernels import Kernels, interpreted, on_gpu


@pytest.fixture(scope="session")
def kernels() -> Iterator[Kernels]:
    """On a GPU if there is one, by Triton's interpreter otherwise."""
    if torch.cuda.is_available():
        yield on_gpu
    else:
        with interpreted() as kernels:
            yield kernels

"""Checks of our own operators: PyTorch's, and that fake results have the form of real ones."""

from __future__ import annotations

from typing import Any

import torch
from torch._subclasses import FakeTensorMode

from bison_ocl import tree

Call = tuple[Any, tuple[Any, ...]]
"""an operator and its arguments"""


def check_well_formed(call: Call) -> None:
    operator, arguments = call
    torch.library.opcheck(operator, arguments)


def check_fake_results(call: Call) -> None:
    """Their shapes, types and strides are those of the real ones."""
    operator, arguments = call
    real = operator(*arguments)
    with FakeTensorMode() as mode:
        fake = operator(*tree.map_leaves(mode.from_tensor, arguments))
    for one, other in zip(tree.leaves((fake,)), tree.leaves((real,)), strict=True):
        assert (one.shape, one.dtype, one.stride()) == (other.shape, other.dtype, other.stride())

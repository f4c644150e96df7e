"""Operators over many runs: their rule for vmap."""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch import Tensor


def serve_all_runs(operator: Any) -> None:
    """Make vmap call an operator once for all runs; it takes any number of leading axes."""

    def rule(info: Any, dims: Any, *arguments: Any) -> Any:
        found = operator(*(runs_first(info, *pair) for pair in zip(arguments, dims, strict=True)))
        return found, (0 if isinstance(found, Tensor) else tuple(0 for _ in found))

    operator.register_vmap(rule)


def runs_first(info: Any, value: Any, dim: int | None) -> Any:
    """An argument with the axis of runs in front; a tensor that all runs share is repeated."""
    if not isinstance(value, Tensor):
        return value
    if dim is None:
        return value.expand(info.batch_size, *value.shape).contiguous()
    return value.movedim(dim, 0).contiguous()


def in_line(x: Tensor, inner: int) -> Tensor:
    """A tensor with all leading axes merged into one, before the last `inner` axes."""
    return x.reshape(-1, *x.shape[x.ndim - inner :])


def total_type(x: Tensor) -> torch.dtype:
    """The dtype of sums over products."""
    return torch.promote_types(x.dtype, torch.float32)


def takes_kernels(x: Tensor) -> bool:
    """Whether Triton kernels apply to a tensor; PyTorch's operators handle the rest."""
    return x.is_cuda and x.dtype != torch.float64


def countable(*runs: Tensor) -> None:
    """Refuse images beyond the 32-bit indices that kernels use inside a run."""
    largest = max(prod(each.shape[1:]) for each in runs)
    if largest >= 2**31:
        raise ValueError(
            f"one layer of this batch has {largest:,} numbers; the kernels' indices end at 2^31: "
            "pass fewer images at once"
        )

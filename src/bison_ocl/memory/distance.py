"""Squared distances between features, by one matrix product."""

from __future__ import annotations

from torch import Tensor


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """‖a_i − b_j‖². a: [A, d], b: [B, d] -> [A, B]"""
    return a.square().sum(1, keepdim=True) + b.square().sum(1) - 2 * a @ b.T

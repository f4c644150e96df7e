"""Similarity of rows in projections and features together (Guo et al. 2022)."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.nets.heads import unit
from bison_ocl.rng import Key, integers


def similarity(u: Tensor, z: Tensor, first: Tensor) -> Tensor:
    """S = v·φᵀ + v·vᵀ with unit projections v and as many columns φ of unit features.

    u: [n, w], z: [n, d], first: [], where the w columns begin -> [n, n]
    """
    v = unit(u)
    columns = first + torch.arange(u.shape[1], device=u.device)
    return v @ (unit(z).gather(1, columns.expand(u.shape)) + v).T


def random_similarity(key: Key, u: Tensor, z: Tensor) -> Tensor:
    """The same with columns from a random place on, uniform in 0..d − w − 1."""
    return similarity(u, z, integers(key, max(z.shape[1] - u.shape[1], 1), ()))

"""Mixup: convex combinations of two images, with both labels (Zhang et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.rng import Key, uniforms

TRIES = 16
"""Pairs of draws for one Beta number; at α = 0.4 one in 10^13 numbers finds none that counts."""


@dataclass(frozen=True)
class Mixed:
    """x = (1 − λ) x_first + λ x_second, floats [B, C, H, W]."""

    x: Tensor
    first: Tensor
    """int64 [B]"""
    second: Tensor
    """int64 [B]"""
    share: Tensor
    """λ in [0, 1], [B]"""

    def __add__(self, other: Mixed) -> Mixed:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Mixed(*(torch.cat(pair) for pair in pairs))

    @property
    def targets(self) -> tuple[Tensor, Tensor, Tensor]:
        """Both labels and λ, for a loss."""
        return self.first, self.second, self.share

    def labels(self, classes: int) -> Tensor:
        """A label for each item; a mixture of two classes has one that no other item has."""
        unique = classes + torch.arange(len(self.first), device=self.first.device)
        return torch.where((self.share > 0) & (self.first != self.second), unique, self.first)


def mixup(first: Batch, second: Batch, share: Tensor) -> Mixed:
    """Mix images one by one; a share of 0 leaves the first as it is."""
    weight = share.to(first.x.dtype)[:, None, None, None]
    return Mixed(torch.lerp(first.x, second.x, weight), first.y, second.y, share)


def beta(key: Key, n: int, alpha: float, dtype: torch.dtype) -> Tensor:
    """n draws of Beta(α, α) by Jöhnk's method (1964): u^(1/α) / (u^(1/α) + v^(1/α)), sum ≤ 1."""
    u = uniforms(key, {"u": (n, TRIES), "v": (n, TRIES)})
    a, b = (u[name].to(dtype).clamp(min=2**-25) ** (1 / alpha) for name in ("u", "v"))
    first = (a + b <= 1).byte().argmax(dim=1, keepdim=True)
    return (a / (a + b)).gather(1, first)[:, 0]

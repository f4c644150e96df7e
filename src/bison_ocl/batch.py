"""Images and labels that index, split and concatenate together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """x: [B, C, H, W], bytes as stored or floats in [0, 1]; y: [B] class ids."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return self.y.shape[0]

    def __getitem__(self, index: Tensor | slice) -> Batch:
        return Batch(self.x[index], self.y[index])

    def __add__(self, other: Batch) -> Batch:
        return Batch(torch.cat([self.x, other.x]), torch.cat([self.y, other.y]))


def to_float(x: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Bytes scaled to [0, 1], not normalised; floats unchanged."""
    return x.to(dtype) / 255 if x.dtype == torch.uint8 else x.to(dtype)


def one_hot(y: Tensor, classes: int) -> Tensor:
    """One-hot labels as booleans [B, classes]; works under vmap."""
    return y[:, None] == torch.arange(classes, device=y.device)


def present(y: Tensor, classes: int) -> Tensor:
    """The set of labels in a batch, as a mask [classes]."""
    return one_hot(y, classes).any(0)

"""Cross-entropy of mixtures of two classes (Zhang et al. 2018)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def mixed_cross_entropy(
    logits: Tensor, first: Tensor, second: Tensor, share: Tensor, classes: Tensor
) -> Tensor:
    """Mean of (1 − λ) CE(first) + λ CE(second), softmax over a mask. share: λ, [B]; classes: [C]"""
    logits = logits.masked_fill(~classes, -float("inf"))
    to_first, to_second = (F.cross_entropy(logits, y, reduction="none") for y in (first, second))
    return torch.lerp(to_first, to_second, share.to(logits.dtype)).mean()

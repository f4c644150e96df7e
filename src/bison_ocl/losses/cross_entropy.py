"""Cross-entropy over a set of classes (paper, §3: L_CE over C_1:t, or over all of them)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def cross_entropy(logits: Tensor, y: Tensor, classes: Tensor) -> Tensor:
    """Mean of −log softmax over the classes of a mask. logits: [B, C], y: [B], classes: [C]"""
    return F.cross_entropy(logits.masked_fill(~classes, -float("inf")), y)

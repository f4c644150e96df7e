"""Separated softmax: classes compete only inside their own part (Ahn et al. 2021, SS-IL)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def separated_softmax(logits: Tensor, y: Tensor, parts: Tensor) -> Tensor:
    """Mean of −log softmax over the classes of the label's part. logits: [B, C], y: [B]

    parts: [C], a number for each class; equal numbers share a softmax.
    """
    return F.cross_entropy(logits.masked_fill(parts[y][:, None] != parts, -float("inf")), y)

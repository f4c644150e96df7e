"""Dual view consistency: two views agree with their joint prediction, and all keep their spread.

Gu et al. 2022, §3.2: mutual information between the views, bounded by a third classifier.
"""

from __future__ import annotations

import torch
from torch import Tensor


def dual_view(
    z: Tensor, joint: Tensor, classes: Tensor, information: float, agreement: float
) -> Tensor:
    """λ2 · mean of Σ p̄ ln p̄ over the three predictions + λ3 · mean |joint − view|.

    z: logits [2, B, C] of both views, joint: [B, C] of the pair; classes: bool [C], those that
    count; `information` is λ2, `agreement` λ3.
    """
    logits = torch.cat([z, joint[None]]).masked_fill(~classes, -float("inf"))
    p = logits.softmax(-1)
    apart = (p[2] - p[:2]).abs().mean((0, 1)).sum() / classes.sum()
    return information * negative_entropy(p.mean(1), classes).mean() + agreement * apart


def negative_entropy(p: Tensor, classes: Tensor) -> Tensor:
    """Σ p ln p over the classes of a mask; at least −ln C. p: [..., C]"""
    p = p.clamp(min=torch.finfo(p.dtype).eps)
    return (p * p.log() * classes).sum(-1)

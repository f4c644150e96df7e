"""Online prototype equilibrium: class means of two views attract, those of others repel.

(Wei et al. 2023.)
"""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl.batch import one_hot, present
from bison_ocl.nets.heads import unit


def prototypes(z: Tensor, y: Tensor, classes: int) -> Tensor:
    """The mean row of each class; zeros for an absent one. z: [B, w] -> [C, w]"""
    labels = one_hot(y, classes).to(z.dtype)
    return labels.T @ z / labels.sum(0).clamp(min=1)[:, None]


def prototype_equilibrium(z: Tensor, y: Tensor, classes: int, temperature: float) -> Tensor:
    """InfoNCE over the 2K prototypes of two views; the positive is the other view's of the class.

    z: [2B, w], B items, then another view of each; y: [B]
    """
    known = present(y, classes).repeat(2)
    p = unit(torch.cat([prototypes(view, y, classes) for view in z.chunk(2)]))
    logits = p @ p.T / temperature
    themselves = torch.eye(2 * classes, dtype=torch.bool, device=y.device)
    total = logits.masked_fill(~known | themselves, -float("inf")).logsumexp(1)
    lengths = total - logits.roll(classes, dims=1).diagonal()
    return (lengths * known).sum() / known.sum()

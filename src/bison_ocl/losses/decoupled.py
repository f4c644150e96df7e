"""Decoupled cross-entropy: old against new classes, and inside them (Liang & Li 2023, LODE)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def decoupled(logits: Tensor, y: Tensor, old: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """The two parts of cross-entropy over `classes`, whose sum it is: inter and intra.

    Inter tells the label's side (`old`, or the rest of `classes`) from the other, intra tells the
    label from its own side. logits: [B, C], y: [B], masks: [C]
    """
    own = (old[y][:, None] == old) & classes
    everywhere = logits.masked_fill(~classes, -float("inf")).logsumexp(1)
    inside = logits.masked_fill(~own, -float("inf"))
    return (everywhere - inside.logsumexp(1)).mean(), F.cross_entropy(inside, y)

"""Supervised contrastive loss: views of a class attract each other (Khosla et al. 2020, Eq. 2)."""

from __future__ import annotations

import torch
from torch import Tensor


def supervised_contrastive(v: Tensor, y: Tensor, temperature: float) -> Tensor:
    """−1/B Σ_a 1/|P(a)| Σ_{p∈P(a)} log(e^{v_a·v_p/τ} / Σ_{q≠a} e^{v_a·v_q/τ})

    P(a): other views of a's class; a view without one adds nothing. v: [B, d], unit rows; y: [B]
    """
    similarity = v @ v.T / temperature
    itself = torch.eye(len(v), dtype=torch.bool, device=v.device)
    positive = (y[:, None] == y) & ~itself
    others = similarity.masked_fill(itself, -float("inf")).logsumexp(1, keepdim=True)
    pull = (similarity - others).masked_fill(~positive, 0).sum(1)
    return -(pull / positive.sum(1).clamp(min=1)).mean()

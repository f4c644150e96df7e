"""Proxy-based contrastive loss: features against their batch's proxies (Lin et al. 2023, PCR)."""

from __future__ import annotations

from torch import Tensor

from bison_ocl.batch import one_hot
from bison_ocl.nets.heads import cosine


def proxy_contrastive(z: Tensor, y: Tensor, w: Tensor, temperature: float) -> Tensor:
    """Mean of −log e^{cos(z_i, w_{y_i})/τ} / Σ_c n_c e^{cos(z_i, w_c)/τ}. z: [B, d], w: [C, d]

    n_c counts the labels of class c in the batch, so that only its own classes take part.
    """
    similarity = cosine(z, w) / temperature
    own = one_hot(y, w.shape[0])
    count = own.sum(0).to(similarity.dtype)
    pull = similarity.masked_fill(~own, 0).sum(1)
    return ((similarity + count.log()).logsumexp(1) - pull).mean()

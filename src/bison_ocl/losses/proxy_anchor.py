"""Proxy-anchor loss: class vectors as proxies of the features (paper, Eq. 3; Kim et al. 2020)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from bison_ocl.batch import one_hot
from bison_ocl.nets.heads import cosine


def proxy_anchor(
    z: Tensor, y: Tensor, w: Tensor, gamma: float, delta: float, classes: Tensor
) -> Tensor:
    """Pull features to their class's proxy, push them from the others. z: [B, d], w: [C, d]

    `classes` [C] is the mask of the proxies that push and are counted in W.
    """
    similarity = cosine(z, w)
    own = one_hot(y, w.shape[0])
    pull = log_one_plus_sum(-gamma * (similarity - delta), own)
    push = log_one_plus_sum(gamma * (similarity + delta), ~own)
    return pull.sum() / own.any(0).sum() + (push * classes).sum() / classes.sum()


def log_one_plus_sum(exponents: Tensor, chosen: Tensor) -> Tensor:
    """log(1 + Σ_i exp(e_ic)) over the chosen i of each column c; 0 where none is. -> [C]"""
    exponents = exponents.masked_fill(~chosen, -float("inf"))
    return F.pad(exponents, (0, 0, 1, 0)).logsumexp(0)  # a row of zeros: exp(0) = 1

"""Interaction of BISON's two classifiers: proxy-anchor loss and alignment (Eq. 3 and 4).

The proxy-anchor loss is that of Kim et al. 2020, with class vectors as the proxies of features.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from bison_ocl.batch import one_hot
from bison_ocl.nets.heads import cosine, unit


def proxy_anchor(
    z: Tensor, y: Tensor, w: Tensor, gamma: float, delta: float, classes: Tensor
) -> Tensor:
    """Pull features to their class's proxy, push them from the others. z: [B, d], w: [C, d]

    `classes` [C] is the mask of the proxies that act as negatives and count in W.
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


def alignment(w: Tensor, target: Tensor, classes: Tensor) -> Tensor:
    """Mean over a set of classes of 1 − cos(w_c, sg(target_c)); 0 for the empty set. w: [C, d]"""
    distance = 1 - (unit(w) * unit(target.detach())).sum(-1)
    return (distance * classes).sum() / classes.sum().clamp(min=1)

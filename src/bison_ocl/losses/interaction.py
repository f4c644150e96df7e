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
    """Mean over P of log(1 + Σ_{y_i=c} e^{−γ(s−δ)}) + mean over W of log(1 + Σ_{y_i≠c} e^{γ(s+δ)})

    s = cos(z_i, w_c); P: the classes of the batch; W: the mask `classes` [C] of the proxies that
    repel features of other classes. z: [B, d], y: [B], w: [C, d]
    """
    similarity = cosine(z, w)
    positive = one_hot(y, w.shape[0])
    pull = log_one_plus_sum(-gamma * (similarity - delta), positive)
    push = log_one_plus_sum(gamma * (similarity + delta), ~positive)
    return pull.sum() / positive.any(0).sum() + (push * classes).sum() / classes.sum()


def log_one_plus_sum(exponents: Tensor, chosen: Tensor) -> Tensor:
    """log(1 + Σ_i exp(e_ic)) over the chosen i of each column c; 0 where none is. -> [C]"""
    exponents = exponents.masked_fill(~chosen, -float("inf"))
    return F.pad(exponents, (0, 0, 1, 0)).logsumexp(0)  # a row of zeros: exp(0) = 1


def alignment(w: Tensor, target: Tensor, classes: Tensor) -> Tensor:
    """Mean over a set of classes of 1 − cos(w_c, sg(target_c)); 0 for the empty set. w: [C, d]"""
    distance = 1 - (unit(w) * unit(target.detach())).sum(-1)
    return (distance * classes).sum() / classes.sum().clamp(min=1)

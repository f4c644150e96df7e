"""PCR: contrast features with proxies of the classes in the batch, as often as they occur.

Lin et al. 2023, "PCR: Proxy-Based Contrastive Replay for Online Class-Incremental ...".
The official code's loss over stream and memory views together; temperature 0.07 as the BISON paper
has it (the official code: 0.09). The first step, with nothing to replay, learns nothing; the
official code updates running statistics there, this one does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl.batch import Batch, one_hot
from bison_ocl.bounds import Positive
from bison_ocl.look import BLUE, Look
from bison_ocl.methods.method import Method, Update
from bison_ocl.nets.heads import Cosine, Head, cosine
from bison_ocl.state import State


@dataclass(frozen=True, kw_only=True)
class PCR(Method):
    """Class vectors without bias are proxies in training and the cosine classifier at test time."""

    title = "PCR"
    kind = "F"
    look = Look(BLUE, "^")
    head = "proxies"
    ignores = ("ce_over_seen",)
    temperature: Positive = 0.07
    """of the softmax over proxies"""

    def heads(self) -> Mapping[str, Head]:
        return {self.head: Cosine(1 / self.temperature, trained=False)}

    def update(self, me: State, new: Batch) -> Update:
        return super().update(me, new) if me.memory.filled else Update.none(me)

    def loss(self, me: State, new: Batch, old: Batch) -> Tensor:
        """One contrast over the views of both batches."""
        z, y = torch.cat(self.features(me, new, old)), torch.cat([new.y, old.y])
        return proxy_contrastive(z, y, me.net.weight(self.head), self.temperature)


def proxy_contrastive(z: Tensor, y: Tensor, w: Tensor, temperature: float) -> Tensor:
    """Mean of −log e^{cos(z_i, w_{y_i})/τ} / Σ_c n_c e^{cos(z_i, w_c)/τ}. z: [B, d], w: [C, d]

    n_c counts the labels of class c in the batch, so that only its own classes take part.
    """
    similarity = cosine(z, w) / temperature
    positive = one_hot(y, w.shape[0])
    count = positive.sum(0).to(similarity.dtype)
    pull = similarity.masked_fill(~positive, 0).sum(1)
    return ((similarity + count.log()).logsumexp(1) - pull).mean()

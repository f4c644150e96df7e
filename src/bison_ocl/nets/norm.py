"""Batch normalisation as a function: the mode is an argument, the statistics are returned.

(Ioffe & Szegedy 2015; eps 1e-5 and momentum 0.1 are PyTorch's defaults.)
"""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F
from torch import Tensor

from bison_ocl.tree import Tensors

Mode = Literal["train", "batch", "eval"]
"""train: batch statistics, which update the running ones; batch: no update; eval: running ones"""

EPSILON = 1e-5
MOMENTUM = 0.1


class Norm:
    """All normalisations of one forward pass; `moved` collects the updated statistics."""

    def __init__(self, params: Tensors, stats: Tensors, mode: Mode) -> None:
        self.params, self.stats, self.mode = params, stats, mode
        self.moved: Tensors = {}

    def __call__(self, name: str, x: Tensor) -> Tensor:
        scale, shift = self.params[f"{name}.scale"], self.params[f"{name}.shift"]
        by_batch = self.mode != "eval" and x.numel() > x.shape[1]  # one number has no variance
        if self.mode == "batch" and by_batch:
            return F.batch_norm(x, None, None, scale, shift, training=True, eps=EPSILON)
        before = self.stats | self.moved  # of the part before, where a pass has several
        mean, variance = before[f"{name}.mean"], before[f"{name}.variance"]
        if self.mode == "train":  # batch_norm updates in place: give it copies
            mean, variance = mean.clone(), variance.clone()
            self.moved |= {f"{name}.mean": mean, f"{name}.variance": variance}
        return F.batch_norm(x, mean, variance, scale, shift, by_batch, MOMENTUM, EPSILON)

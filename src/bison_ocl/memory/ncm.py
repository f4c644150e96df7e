"""Nearest class mean over the memory (paper, Alg. 1 lines 23-27; Mensink et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bison_ocl.batch import one_hot, to_float
from bison_ocl.memory.distance import squared_distances
from bison_ocl.memory.memory import Memory
from bison_ocl.nets.heads import unit
from bison_ocl.nets.net import Net

CHUNK = 500
"""Images through the network at once: bounds the memory an evaluation takes."""


@dataclass(frozen=True)
class Means:
    """means: [C, d]; known: [C], the classes with at least one stored image."""

    means: Tensor
    known: Tensor


def class_means(net: Net, memory: Memory, classes: int, normalise: bool) -> Means:
    """μ_c over all stored images of class c, without augmentation."""
    if memory.filled == 0:
        z = memory.y.new_zeros((1, net.design.backbone.features), dtype=net.dtype)
        return Means(z.expand(classes, -1), torch.zeros_like(one_hot(memory.y, classes)[0]))
    z = torch.cat(
        [
            net.features(to_float(memory.x[i : min(i + CHUNK, memory.filled)], net.dtype), "eval")
            for i in range(0, memory.filled, CHUNK)
        ]
    )
    used = memory.used[: memory.filled, None]
    own = (one_hot(memory.y[: memory.filled], classes) & used).to(z.dtype)
    count = own.sum(0)
    means = own.T @ (unit(z) if normalise else z) / count.clamp(min=1)[:, None]
    return Means(unit(means) if normalise else means, count > 0)


def nearest_mean(z: Tensor, means: Means, normalise: bool) -> Tensor:
    """Scores −‖z − μ_c‖²; a class without a stored image is never nearest. z: [B, d] -> [B, C]"""
    z = unit(z) if normalise else z
    return (-squared_distances(z, means.means)).masked_fill(~means.known, -float("inf"))

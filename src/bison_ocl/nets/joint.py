"""Joint head on the logits of two views (Gu et al. 2022, §3.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.nets.heads import class_rows
from bison_ocl.rng import Key, uniform
from bison_ocl.tree import Tensors

WIDTH = 128


@dataclass(frozen=True)
class Joint:
    """[z; z'] (2C) → WIDTH → ReLU → C logits, with biases; one row per class, so that it can grow.

    Its first layer starts uniform in ±1/√(2 · scaled_for): PyTorch's default for that number of
    classes. The actual number would force new draws for all rows whenever the head grows.
    """

    scaled_for: int

    def parameters(self, key: Key, classes: int, features: int) -> Tensors:
        inputs = 2 * self.scaled_for
        views = [class_rows(key.named(f"view{v}"), classes, inputs, WIDTH) for v in range(2)]
        bias = uniform(key.named("first.bias"), (WIDTH,)) * 2 - 1
        return {
            "first.weight": torch.stack(views),
            "first.bias": bias / math.sqrt(inputs),
            "weight": class_rows(key.named("weight"), classes, WIDTH, WIDTH),
            "bias": class_rows(key.named("bias"), classes, WIDTH, 1)[:, 0],
        }

    def __call__(self, params: Tensors, z: Tensor) -> Tensor:
        """z: [2, B, C], the logits of both views -> [B, C]"""
        hidden = F.relu((z @ params["first.weight"]).sum(0) + params["first.bias"])
        return F.linear(hidden, params["weight"], params["bias"])

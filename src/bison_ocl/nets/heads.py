"""Heads on top of the features: linear, cosine (paper, Eq. 1) and projection.

A class's row has its own named draw, so that a head can grow without changing existing rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.nets.resnet import fan_in_uniform
from bison_ocl.rng import Key, rows, uniform
from bison_ocl.tree import Tensors


class Head(Protocol):
    """Interface of a head."""

    def parameters(self, key: Key, classes: int, features: int) -> Tensors: ...

    def __call__(self, params: Tensors, z: Tensor) -> Tensor: ...


def class_rows(key: Key, classes: int, features: int, width: int) -> Tensor:
    """Rows uniform in ±1/√features, each from its own draw."""
    return (rows(key, classes, width) * 2 - 1) / math.sqrt(features)


@dataclass(frozen=True)
class Linear:
    """Logits w_j·z + b_j."""

    def parameters(self, key: Key, classes: int, features: int) -> Tensors:
        weight = class_rows(key.named("weight"), classes, features, features)
        bias = class_rows(key.named("bias"), classes, features, 1)[:, 0]
        return {"weight": weight, "bias": bias}

    def __call__(self, params: Tensors, z: Tensor) -> Tensor:
        return F.linear(z, params["weight"], params["bias"])


@dataclass(frozen=True)
class Cosine:
    """Logits η·cos(w_j, z), without bias; η starts at `scale` and is trained (paper, Eq. 1).

    With `trained=False` η is fixed at `scale`.
    """

    scale: float = 1.0
    trained: bool = True

    def parameters(self, key: Key, classes: int, features: int) -> Tensors:
        weight = class_rows(key.named("weight"), classes, features, features)
        scale = {"scale": torch.full_like(weight[0, 0], self.scale)} if self.trained else {}
        return {"weight": weight} | scale

    def __call__(self, params: Tensors, z: Tensor) -> Tensor:
        return params.get("scale", self.scale) * cosine(z, params["weight"])


@dataclass(frozen=True)
class Projection:
    """A two-layer map to `width` dimensions, for contrastive losses (Khosla et al. 2020)."""

    width: int = 128

    def parameters(self, key: Key, classes: int, features: int) -> Tensors:
        params = {}
        for name, outputs in (("first", features), ("second", self.width)):
            bias = uniform(key.named(f"{name}.bias"), (outputs,)) * 2 - 1
            params[f"{name}.weight"] = fan_in_uniform(key.named(name), (outputs, features))
            params[f"{name}.bias"] = bias / math.sqrt(features)
        return params

    def __call__(self, params: Tensors, z: Tensor) -> Tensor:
        hidden = F.relu(F.linear(z, params["first.weight"], params["first.bias"]))
        return F.linear(hidden, params["second.weight"], params["second.bias"])


@dataclass(frozen=True)
class LinearProjection:
    """A one-layer map to `width` dimensions, at most the number of features."""

    width: int = 128

    def parameters(self, key: Key, classes: int, features: int) -> Tensors:
        width = min(self.width, features)
        bias = uniform(key.named("bias"), (width,)) * 2 - 1
        weight = fan_in_uniform(key.named("weight"), (width, features))
        return {"weight": weight, "bias": bias / math.sqrt(features)}

    def __call__(self, params: Tensors, z: Tensor) -> Tensor:
        return F.linear(z, params["weight"], params["bias"])


def unit(x: Tensor) -> Tensor:
    """Rows of length one."""
    return F.normalize(x, dim=-1, eps=1e-8)


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """‖a_i − b_j‖², by one matrix product. a: [A, d], b: [B, d] -> [A, B]"""
    return a.square().sum(1, keepdim=True) + b.square().sum(1) - 2 * a @ b.T


def cosine(z: Tensor, w: Tensor) -> Tensor:
    """cos(z_i, w_j) for every pair. z: [B, d], w: [C, d] -> [B, C]"""
    return unit(z) @ unit(w).T

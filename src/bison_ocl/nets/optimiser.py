"""Optimisers as values: a step maps (parameters, gradients, moments) to new ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from bison_ocl import tree
from bison_ocl.nets.net import Net, Params
from bison_ocl.tree import Tensors

Moments = dict[str, Tensors]
"""moments of an optimiser, by kind and parameter path; empty for SGD"""


class Optimiser(Protocol):
    """Interface of an optimiser."""

    def start(self, net: Net) -> Moments: ...

    def __call__(self, net: Net, grads: Params, moments: Moments) -> tuple[Net, Moments]: ...


@dataclass(frozen=True)
class SGD:
    """Plain stochastic gradient descent, without momentum or weight decay."""

    lr: float

    def start(self, net: Net) -> Moments:
        return {}

    def __call__(self, net: Net, grads: Params, moments: Moments) -> tuple[Net, Moments]:
        return net.step(grads, self.lr), moments


@dataclass(frozen=True)
class Adam:
    """Adam with L2 weight decay added to the gradient (Kingma & Ba 2015, Alg. 1)."""

    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    epsilon: float = 1e-8

    def start(self, net: Net) -> Moments:
        first, second = tree.named(net.zeros()), tree.named(net.zeros())
        count = torch.zeros_like(next(iter(first.values())).sum())
        return {"first": first, "second": second, "count": {"steps": count}}

    def __call__(self, net: Net, grads: Params, moments: Moments) -> tuple[Net, Moments]:
        values, slopes = tree.named(net.params), tree.named(grads)
        count = moments["count"]["steps"] + 1
        first: Tensors = {}
        second: Tensors = {}
        ahead = []
        for name, value in values.items():
            # Entries without a gradient so far stay unchanged: Adam would scale their decay up to
            # full steps, and rows of unseen classes would depend on when their head grew.
            untouched = (slopes[name] == 0) & (moments["second"][name] == 0)
            decay = (self.weight_decay * value).masked_fill(untouched, 0)
            slope = slopes[name] + decay
            first[name] = torch.lerp(slope, moments["first"][name], self.betas[0])
            second[name] = torch.lerp(slope.square(), moments["second"][name], self.betas[1])
            mean = first[name] / (1 - self.betas[0] ** count)
            spread = (second[name] / (1 - self.betas[1] ** count)).sqrt()
            ahead.append(value - self.lr * mean / (spread + self.epsilon))
        moved = Net(tree.rebuilt(net.params, ahead), net.stats, net.design)
        return moved, {"first": first, "second": second, "count": {"steps": count}}

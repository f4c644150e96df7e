"""A network as a value: no shared tensor changes, so copies, threads and vmap are safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.nets.heads import Head
from bison_ocl.nets.norm import Mode
from bison_ocl.rng import Key
from bison_ocl.tree import Tensors

Params = dict[str, Tensors]
"""parameters by part ("backbone", each head's name, "scalars") and name"""


class Backbone(Protocol):
    """Images to features, as a function of parameters and running statistics."""

    @property
    def features(self) -> int: ...

    @property
    def shares_passes(self) -> bool:
        """Whether batches with statistics of their own can share a pass."""
        ...

    def parameters(self, key: Key) -> Tensors: ...

    def statistics(self, params: Tensors) -> Tensors: ...

    def __call__(
        self, params: Tensors, stats: Tensors, x: Tensor, mode: Mode, parts: int = 1
    ) -> tuple[Tensor, Tensors]:
        """parts: the number of batches in x; more than 1 only if they can share a pass"""
        ...


@dataclass(frozen=True)
class Design:
    """The architecture of a network, equal for all runs of an experiment."""

    backbone: Backbone
    heads: Mapping[str, Head]
    scalars: Mapping[str, float]

    def born(self, key: Key, classes: int, dtype: torch.dtype) -> Net:
        """A fresh network for `classes` classes."""
        device = key.bits.device
        backbone = self.backbone.parameters(key.named("backbone"))
        params = {"backbone": backbone}
        for name, head in self.heads.items():
            params[name] = head.parameters(key.named(name), classes, self.backbone.features)
        params["scalars"] = {
            name: torch.full((), value, device=device) for name, value in self.scalars.items()
        }
        params = tree.map_leaves(lambda leaf: in_format(leaf.to(dtype)), params)
        stats = self.backbone.statistics(params["backbone"])
        return Net(params, tree.map_leaves(lambda leaf: leaf.to(device), stats), self)


@dataclass
class Net:
    """Parameters and running statistics; a train-mode pass replaces them, never in place."""

    params: Params
    stats: Tensors
    design: Design

    def features(self, x: Tensor, mode: Mode = "train") -> Tensor:
        """z = h(x; Φ)"""
        z, moved = self.design.backbone(self.params["backbone"], self.stats, x, mode)
        if mode == "train":
            self.stats = moved
        return z

    def features_apart(self, *batches: Tensor) -> list[Tensor]:
        """Features of batches with separate batch statistics, in the order of their passes.

        Some backbones take batches of one size in one pass.
        """
        sizes = [len(x) for x in batches]
        if not self.design.backbone.shares_passes or len(set(sizes)) > 1:
            return [self.features(x) for x in batches]
        z, self.stats = self.design.backbone(
            self.params["backbone"], self.stats, torch.cat(batches), "train", len(batches)
        )
        return list(torch.split(z, sizes))

    def logits(self, z: Tensor, head: str) -> Tensor:
        """f(z; W) of one head."""
        return self.design.heads[head](self.params[head], z)

    def __call__(self, x: Tensor, head: str, mode: Mode = "train") -> Tensor:
        return self.logits(self.features(x, mode), head)

    def weight(self, head: str) -> Tensor:
        """The class vectors of a head, [C, d]."""
        return self.params[head]["weight"]

    def scalar(self, name: str) -> Tensor:
        """A declared scalar parameter."""
        return self.params["scalars"][name]

    def with_scalar(self, name: str, value: float) -> Net:
        """The same network with another value of one scalar."""
        scalars = self.params["scalars"]
        changed = scalars | {name: torch.full_like(scalars[name], value)}
        return replace(self, params=self.params | {"scalars": changed})

    @property
    def dtype(self) -> torch.dtype:
        return next(value for part in self.params.values() for value in part.values()).dtype

    def zeros(self) -> Params:
        """A gradient of zeros."""
        return tree.map_leaves(torch.zeros_like, self.params)

    def copy(self) -> Net:
        """A copy that can be trained or evaluated without changing this network."""
        return replace(self)

    def step(self, grads: Params, lr: float) -> Net:
        """The network after one plain gradient step."""
        values, slopes = tree.leaves(self.params), tree.leaves(grads)
        if tree.under_vmap(values[0]):
            pairs = zip(values, slopes, strict=True)
            ahead = [torch.add(value, slope, alpha=-lr) for value, slope in pairs]
        else:  # one kernel for all of them
            ahead = list(torch._foreach_add(values, slopes, alpha=-lr))
        return replace(self, params=tree.rebuilt(self.params, ahead))

    def grad(self, loss: Callable[[Net], Tensor]) -> tuple[Tensor, Params]:
        """The loss and its gradient; train-mode passes inside update this network's statistics.

        Unused parameters get zeros, in a loop over seeds as under vmap.
        """
        value, grads, _ = self.grad_with(lambda net: (loss(net), {}))
        return value, grads

    def grad_with(
        self, loss: Callable[[Net], tuple[Tensor, Tensors]]
    ) -> tuple[Tensor, Params, Tensors]:
        """Loss, gradient, and tensors that the loss keeps, such as logits."""
        values = tree.leaves(self.params)
        if tree.under_vmap(values[0]):
            return self._grad_under_vmap(loss)
        values = [value.detach().requires_grad_() for value in values]
        live = replace(self, params=tree.rebuilt(self.params, values))
        with torch.enable_grad():
            value, kept = loss(live)
            grads = torch.autograd.grad(value, values, allow_unused=True, materialize_grads=True)
        self.stats = live.stats
        kept = tree.map_leaves(torch.Tensor.detach, kept)
        return value.detach(), tree.rebuilt(self.params, grads), kept

    def _grad_under_vmap(
        self, loss: Callable[[Net], tuple[Tensor, Tensors]]
    ) -> tuple[Tensor, Params, Tensors]:
        """The same by torch.func, because the faster autograd.grad does not work under vmap."""

        def with_stats(params: Params) -> tuple[Tensor, tuple[Tensor, Tensors, Tensors]]:
            live = replace(self, params=params)
            value, kept = loss(live)
            return value, (value, live.stats, kept)

        grads, (value, self.stats, kept) = torch.func.grad(with_stats, has_aux=True)(self.params)
        return value, grads, kept


def in_format(weight: Tensor) -> Tensor:
    """Convolution weights channels-last: faster on CPU and GPU, for one seed."""
    if weight.ndim != 4 or tree.under_vmap(weight):
        return weight
    return weight.contiguous(memory_format=torch.channels_last)

"""Gradients of single images and of batches, and their similarity.

All parameters of a network count as one flat vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.linalg import vector_norm

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.nets.net import Net, Params

Loss = Callable[[Net, Batch], Tensor]
Gradients = tuple[Tensor, ...]
"""One matrix per parameter, with a row per item or batch; one joint matrix would be a copy."""


def matrix(leaf: Tensor) -> Tensor:
    return leaf.reshape(leaf.shape[0], -1)


def each_gradient(net: Net, loss: Loss, items: Batch) -> Gradients:
    """The gradient of every single item."""

    def one(item: Batch) -> Params:
        single = Batch(item.x[None], item.y[None])
        grads: Params = torch.func.grad(lambda p: loss(replace(net, params=p), single))(net.params)
        return grads

    return tuple(matrix(leaf) for leaf in tree.leaves(tree.vectorised(one)(items)))


def batch_gradients(net: Net, loss: Loss, items: Batch, size: int) -> Gradients:
    """The gradient of every `size` items in a row."""

    def one(batch: Batch) -> Params:
        return net.grad(lambda net: loss(net, batch))[1]

    grads = tree.stack([one(items[i : i + size]) for i in range(0, len(items), size)])
    return tuple(matrix(leaf) for leaf in tree.leaves(grads))


def mean_gradient(grads: Gradients) -> Gradients:
    """The mean over items, as a batch of one."""
    return tuple(leaf.mean(0, keepdim=True) for leaf in grads)


def similarity(g: Gradients, memory: Gradients) -> Tensor:
    """max_k cos(g_i, G_k) over all parameters as one vector, [B]."""
    products = torch.stack([a @ b.T for a, b in zip(g, memory, strict=True)]).sum(0)
    lengths = length(g)[:, None] * length(memory)
    return (products / lengths.clamp(min=1e-8)).amax(1)


def length(grads: Gradients) -> Tensor:
    return torch.stack([vector_norm(leaf, dim=1).square() for leaf in grads]).sum(0).sqrt()

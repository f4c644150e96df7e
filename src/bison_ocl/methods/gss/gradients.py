"""Gradients of single images and of batches, their inner products and their similarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.nets.net import Net, Params

Loss = Callable[[Net, Batch], Tensor]
Gradients = tuple[Tensor, ...]
"""One matrix per parameter, with a row per item or batch."""
COLUMNS = 2048
"""columns of a piece"""


def matrix(leaf: Tensor) -> Tensor:
    return leaf.reshape(leaf.shape[0], -1)


def each_gradient(net: Net, loss: Loss, items: Batch) -> Gradients:
    """The gradient of every single item."""

    def gradient(item: Batch) -> Params:
        single = Batch(item.x[None], item.y[None])
        grads: Params = torch.func.grad(lambda p: loss(replace(net, params=p), single))(net.params)
        return grads

    return tuple(matrix(leaf) for leaf in tree.leaves(tree.vectorised(gradient)(items)))


def batch_gradients(net: Net, loss: Loss, items: Batch, size: int) -> Gradients:
    """The gradient of every `size` items in a row; of stacked runs, of all batches at once."""

    def gradient(batch: Batch) -> Params:
        return net.grad(lambda net: loss(net, batch))[1]

    if tree.under_vmap(items.x):
        batches = tree.map_leaves(lambda leaf: torch.unflatten(leaf, 0, (-1, size)), items)
        grads = tree.vectorised(gradient)(batches)
    else:  # faster on a CPU
        grads = tree.stack([gradient(items[i : i + size]) for i in range(0, len(items), size)])
    return tuple(matrix(leaf) for leaf in tree.leaves(grads))


def products(*gradients: Gradients) -> Tensor:
    """Inner products of all gradients, with all parameters as one vector, [n, n]."""
    leaves = [torch.cat(same) for same in zip(*gradients, strict=True)]
    return torch.stack([product(leaf) for leaf in leaves]).sum(0)


def product(rows: Tensor) -> Tensor:
    """rows @ rows.T, by pieces of the columns.

    A GPU gives one product of few rows and many columns to few of its processors.
    """
    pieces, left = divmod(rows.shape[1], COLUMNS)
    whole, rest = torch.split(rows, [pieces * COLUMNS, left], dim=1)
    whole = torch.unflatten(whole, 1, (pieces, COLUMNS)).movedim(1, 0)
    return (whole @ whole.mT).sum(0) + rest @ rest.T


def similarity(products: Tensor, n: int) -> Tensor:
    """max_k cos(g_i, G_k) of the first n gradients with the others, [n]."""
    length = products.diagonal().sqrt()
    lengths = length[:n, None] * length[n:]
    return (products[:n, n:] / lengths.clamp(min=1e-8)).amax(1)


def with_mean(products: Tensor, n: int) -> Tensor:
    """The inner products with the mean of the first n gradients in their place."""
    rows = torch.cat([products[:n].mean(0, keepdim=True), products[n:]])
    return torch.cat([rows[:, :n].mean(1, keepdim=True), rows[:, n:]], dim=1)

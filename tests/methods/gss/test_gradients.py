"""Gradients of items and batches against one backward pass each; their similarity by a loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.methods.gss.gradients import (
    COLUMNS,
    Gradients,
    batch_gradients,
    each_gradient,
    products,
    similarity,
    with_mean,
)
from bison_ocl.nets.heads import Linear
from bison_ocl.nets.net import Design, Net
from bison_ocl.rng import key_of
from tests.tiny import Tiny, images, same, snapshot

NET = Design(Tiny(), {"linear": Linear()}, {}).born(key_of(0, 0, "init"), 4, torch.float64)
Y = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 0, 0])
ITEMS = Batch(images(Y).double() / 255, Y)


def loss(net: Net, batch: Batch) -> Tensor:
    every = torch.ones(4, dtype=torch.bool)
    return cross_entropy(net(batch.x, "linear", "eval"), batch.y, every)


def one_at_a_time(batch: Batch) -> Tensor:
    """A plain backward pass, flattened."""
    _, grads = NET.grad(lambda net: loss(net, batch))
    return torch.cat([leaf.flatten() for leaf in tree.leaves(grads)])


def vectors(grads: Gradients) -> Tensor:
    return torch.cat(grads, dim=1)


def test_gradients_of_items_equal_one_backward_each() -> None:
    before = snapshot(NET)
    found = vectors(each_gradient(NET, loss, ITEMS))
    for i in range(10):
        torch.testing.assert_close(found[i], one_at_a_time(ITEMS[i : i + 1]))
    assert same(before, snapshot(NET))


@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_gradients_of_batches_equal_one_backward_each(size: int) -> None:
    found = batch_gradients(NET, loss, ITEMS, size)
    expected = [one_at_a_time(ITEMS[i : i + size]) for i in range(0, 10, size)]
    torch.testing.assert_close(vectors(found), torch.stack(expected))


@pytest.mark.parametrize(
    "gradients", [each_gradient, partial(batch_gradients, size=2)], ids=["items", "batches"]
)
def test_gradients_work_for_several_runs_at_once(gradients: Callable[..., Gradients]) -> None:
    batches = [ITEMS[:4], ITEMS[4:8]]
    together = tree.vectorised(lambda net, b: gradients(net, loss, b))(
        tree.stack([NET, NET]), tree.stack(batches)
    )
    for run in range(2):
        alone = gradients(NET, loss, batches[run])
        torch.testing.assert_close(vectors(tree.pick(together, run)), vectors(alone))


def rows(n: int, width: int = 7) -> Tensor:
    return torch.randn(n, width, dtype=torch.float64, generator=torch.Generator().manual_seed(n))


@pytest.mark.parametrize("width", [7, COLUMNS, 2 * COLUMNS + 3])
def test_products_sum_over_all_parameters(width: int) -> None:
    g, memory = rows(4, width), rows(3, width)
    both = torch.cat([g, memory])
    sizes = [4, width - 4]
    torch.testing.assert_close(products(g.split(sizes, 1), memory.split(sizes, 1)), both @ both.T)


def test_similarity_is_the_largest_cosine() -> None:
    g, memory = rows(4), rows(3)
    g[3] = 0
    for i, found in enumerate(similarity(products((g,), (memory,)), 4).tolist()):
        pairs = [(g[i] @ m / (g[i].norm() * m.norm()).clamp(min=1e-8)).item() for m in memory]
        assert found == pytest.approx(max(pairs), abs=1e-12)


def test_the_mean_takes_the_place_of_the_items() -> None:
    g, memory = each_gradient(NET, loss, ITEMS), batch_gradients(NET, loss, ITEMS, 5)
    of_batch = batch_gradients(NET, loss, ITEMS, 10)
    expected = products(of_batch, memory)
    torch.testing.assert_close(with_mean(products(g, memory), 10), expected)

"""Gradients of items and batches against one backward pass each; their similarity by a loop."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.losses.cross_entropy import cross_entropy
from bison_ocl.methods.gss.gradients import (
    Gradients,
    batch_gradients,
    each_gradient,
    mean_gradient,
    similarity,
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


def test_their_mean_is_the_gradient_of_the_batch() -> None:
    mean = mean_gradient(each_gradient(NET, loss, ITEMS))
    torch.testing.assert_close(vectors(mean)[0], one_at_a_time(ITEMS))


@pytest.mark.parametrize("size", [1, 2, 5, 10])
def test_gradients_of_batches_equal_one_backward_each(size: int) -> None:
    found = batch_gradients(NET, loss, ITEMS, size)
    expected = [one_at_a_time(ITEMS[i : i + size]) for i in range(0, 10, size)]
    torch.testing.assert_close(vectors(found), torch.stack(expected))


def test_gradients_of_items_work_for_several_runs_at_once() -> None:
    batches = [ITEMS[:3], ITEMS[3:6]]
    together = tree.vectorised(lambda net, b: each_gradient(net, loss, b))(
        tree.stack([NET, NET]), tree.stack(batches)
    )
    for run in range(2):
        alone = each_gradient(NET, loss, batches[run])
        torch.testing.assert_close(vectors(tree.pick(together, run)), vectors(alone))


def test_similarity_is_the_largest_cosine() -> None:
    generator = torch.Generator().manual_seed(0)
    g, memory = (torch.randn(n, 7, dtype=torch.float64, generator=generator) for n in (4, 3))
    g[3] = 0

    for i, found in enumerate(similarity(g.split([4, 3], 1), memory.split([4, 3], 1)).tolist()):
        pairs = [(g[i] @ m / (g[i].norm() * m.norm()).clamp(min=1e-8)).item() for m in memory]
        assert found == pytest.approx(max(pairs), abs=1e-12)

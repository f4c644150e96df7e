"""Optimisers against torch.optim, over several steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.nets.heads import Linear
from bison_ocl.nets.net import Design, Net, Params
from bison_ocl.nets.optimiser import SGD, Adam, Moments, Optimiser
from bison_ocl.rng import key_of
from tests.tiny import Tiny, same, snapshot


def born(seed: int = 0) -> Net:
    design = Design(Tiny(), {"linear": Linear()}, {"a": 0.5})
    return design.born(key_of(seed, 0, "init"), 3, torch.float64)


def slopes(net: Net, seed: int) -> Params:
    """Random gradients, of very different sizes."""
    generator = torch.Generator().manual_seed(seed)

    def draw(value: Tensor) -> Tensor:
        noise = torch.randn(value.shape, generator=generator, dtype=value.dtype)
        return noise * 10.0 ** (seed - 3)

    return tree.map_leaves(draw, net.params)


Reference = Callable[[Iterable[Tensor]], torch.optim.Optimizer]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SGD(0.1), lambda p: torch.optim.SGD(p, lr=0.1)),
        (Adam(1e-3), lambda p: torch.optim.Adam(p, lr=1e-3)),
        (
            Adam(1e-3, betas=(0.9, 0.99), weight_decay=1e-4),
            lambda p: torch.optim.Adam(p, lr=1e-3, betas=(0.9, 0.99), weight_decay=1e-4),
        ),
        (
            Adam(0.05, betas=(0.3, 0.6), weight_decay=0.1, epsilon=1e-3),
            lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.3, 0.6), weight_decay=0.1, eps=1e-3),
        ),
    ],
)
def test_steps_equal_torch(ours: Optimiser, theirs: Reference) -> None:
    net = born()
    moments = ours.start(net)
    values = [value.clone().requires_grad_() for value in tree.leaves(net.params)]
    reference = theirs(values)
    for seed in range(6):
        grads = slopes(net, seed)
        for value, grad in zip(values, tree.leaves(grads), strict=True):
            value.grad = grad.clone()
        reference.step()
        net, moments = ours(net, grads, moments)
        for mine, value in zip(tree.leaves(net.params), values, strict=True):
            torch.testing.assert_close(mine, value.detach(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("optimiser", [SGD(0.1), Adam(1e-3)])
def test_a_step_changes_nothing_in_place_and_keeps_the_statistics(optimiser: Optimiser) -> None:
    net = born()
    moments = optimiser.start(net)
    before = snapshot((net, moments))
    ahead, _ = optimiser(net, slopes(net, 3), moments)
    assert same(snapshot((net, moments)), before)
    assert same(snapshot(ahead.stats), snapshot(net.stats))
    ahead.features(torch.rand(4, 3, 8, 8, dtype=torch.float64))
    assert same(snapshot((net, moments)), before)


def test_sgd_remembers_nothing() -> None:
    assert tree.leaves(SGD(0.1).start(born())) == []


def test_adam_under_vmap_equals_a_loop() -> None:
    adam = Adam(1e-2, weight_decay=0.1)
    nets = [born(0), born(1)]
    grads = [slopes(net, i + 2) for i, net in enumerate(nets)]

    def two_steps(net: Net, grads: Params, moments: Moments) -> tuple[Net, Moments]:
        net, moments = adam(net, grads, moments)
        return adam(net, grads, moments)

    starts = [adam.start(net) for net in nets]
    together = tree.vectorised(two_steps)(tree.stack(nets), tree.stack(grads), tree.stack(starts))
    for i in range(2):
        alone = tree.named(two_steps(nets[i], grads[i], starts[i]))
        for name, value in tree.named(tree.pick(together, i)).items():
            torch.testing.assert_close(value, alone[name], rtol=1e-12, atol=1e-14)


def test_adam_decays_nothing_that_no_gradient_has_reached() -> None:
    adam, net = Adam(0.1, weight_decay=0.5), born()
    grads = net.zeros()
    grads["linear"]["bias"] += 1
    ahead, moments = adam(net, grads, adam.start(net))
    assert same(snapshot(ahead.params["backbone"]), snapshot(net.params["backbone"]))
    again, _ = adam(ahead, net.zeros(), moments)
    assert (again.params["linear"]["bias"] != ahead.params["linear"]["bias"]).all()

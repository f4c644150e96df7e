"""A network is a value: gradients, statistics, copies, threads and vmap."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bison_ocl import tree
from bison_ocl.nets.heads import Cosine, Linear
from bison_ocl.nets.net import Backbone, Design, Net, Params
from bison_ocl.nets.norm import Mode
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.rng import key_of
from tests.tiny import Tiny, same, snapshot

DESIGN = Design(Tiny(), {"linear": Linear(), "spare": Cosine()}, {"a": 0.5})
Y = torch.tensor([0, 1, 2, 0, 1])
KEY = key_of(0, 0, "init")


def born(seed: int = 0) -> Net:
    return DESIGN.born(key_of(seed, 0, "init"), 3, torch.float64)


def pictures(seed: int = 0, n: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand((n, 3, 8, 8), generator=generator, dtype=torch.float64)


def ce(x: Tensor, mode: Mode = "train") -> Callable[[Net], Tensor]:
    return lambda net: F.cross_entropy(net(x, "linear", mode), Y)


class Plain(nn.Module):
    """The same network with the same weights, as one usually writes it."""

    def __init__(self, net: Net) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.bn, self.linear = nn.BatchNorm2d(8), nn.Linear(8, 3)
        self.double()
        with torch.no_grad():
            self.conv.weight.copy_(net.params["backbone"]["stem.weight"])
            self.linear.weight.copy_(net.params["linear"]["weight"])
            self.linear.bias.copy_(net.params["linear"]["bias"])

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(F.relu(self.bn(self.conv(x))).mean((2, 3)))


class Counting:
    """A backbone that counts its passes."""

    def __init__(self, backbone: Backbone) -> None:
        self.backbone, self.passes = backbone, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backbone, name)

    def __call__(self, *arguments: Any) -> tuple[Tensor, dict[str, Tensor]]:
        self.passes += 1
        return self.backbone(*arguments)


def test_grad_equals_autograd_on_plain_modules() -> None:
    net, x = born(), pictures()
    plain = Plain(net)
    loss, grads = net.grad(ce(x))
    expected = F.cross_entropy(plain(x), Y)
    expected.backward()
    torch.testing.assert_close(loss, expected.detach())
    for mine, theirs in [
        (grads["backbone"]["stem.weight"], plain.conv.weight),
        (grads["backbone"]["stem.scale"], plain.bn.weight),
        (grads["backbone"]["stem.shift"], plain.bn.bias),
        (grads["linear"]["weight"], plain.linear.weight),
        (grads["linear"]["bias"], plain.linear.bias),
    ]:
        torch.testing.assert_close(mine, theirs.grad)
    torch.testing.assert_close(net.stats["stem.mean"], plain.bn.running_mean)
    torch.testing.assert_close(net.stats["stem.variance"], plain.bn.running_var)


def test_unused_parameters_get_zeros() -> None:
    _, grads = born().grad(ce(pictures()))
    for name, value in tree.named({n: grads[n] for n in ("spare", "scalars")}).items():
        assert value.shape == tree.named(born().params)[name].shape
        assert (value == 0).all()


def test_grad_leaves_parameters_alone_and_returns_no_graph() -> None:
    net = born()
    before = snapshot(net.params)
    loss, grads = net.grad(ce(pictures()))
    assert same(snapshot(net.params), before)
    tensors = [loss, *tree.leaves(grads), *tree.leaves(net.params), *tree.leaves(net.stats)]
    assert not any(tensor.requires_grad for tensor in tensors)


def test_grad_works_where_gradients_are_off() -> None:
    with torch.no_grad():
        _, grads = born().grad(ce(pictures()))
    assert grads["linear"]["weight"].abs().sum() > 0


@pytest.mark.parametrize("passes", [1, 2])
def test_grad_moves_statistics_once_for_each_train_pass(passes: int) -> None:
    net, x = born(), pictures()
    module = nn.BatchNorm2d(8).double()
    conv = F.conv2d(x, net.params["backbone"]["stem.weight"], stride=2, padding=1)
    for _ in range(passes):
        module(conv)
    net.grad(lambda live: sum(ce(x)(live) for _ in range(passes)))  # type: ignore[arg-type, return-value]
    torch.testing.assert_close(net.stats["stem.mean"], module.running_mean)
    torch.testing.assert_close(net.stats["stem.variance"], module.running_var)


@pytest.mark.parametrize("mode", ["batch", "eval"])
def test_other_passes_move_no_statistics(mode: Mode) -> None:
    net = born()
    before = snapshot(net)
    net(pictures(), "linear", mode)
    net.grad(ce(pictures(), mode))
    assert same(snapshot(net), before)


def test_a_copy_and_a_step_ahead_do_not_share_statistics() -> None:
    net = born()
    _, grads = net.grad(ce(pictures()))
    for other in (net.copy(), net.step(grads, 0.1)):
        before = snapshot(net)
        other.features(pictures(1))
        other.grad(ce(pictures(2)))
        assert same(snapshot(net), before)
        assert not torch.equal(other.stats["stem.mean"], net.stats["stem.mean"])
        moved = snapshot(other)
        net.features(pictures(3))
        assert same(snapshot(other), moved)


def test_statistics_are_replaced_never_changed_in_place() -> None:
    net = born()
    held = net.stats
    before = snapshot(held)
    net.features(pictures())
    assert same(snapshot(held), before)


def test_step_goes_down_the_gradient() -> None:
    net = born()
    loss, grads = net.grad(ce(pictures()))
    ahead = net.step(grads, 0.1)
    for name, value in tree.named(ahead.params).items():
        expected = tree.named(net.params)[name] - 0.1 * tree.named(grads)[name]
        torch.testing.assert_close(value, expected)
    assert ce(pictures())(ahead) < loss


@pytest.mark.parametrize("sizes", [(4, 4), (4, 4, 4), (4, 2), (4,)], ids=str)
@pytest.mark.parametrize("layers", [{}, {"fused": True}, {"precision": "bf16"}], ids=str)
def test_batches_apart_are_passes_one_after_the_other(
    layers: dict[str, Any], sizes: tuple[int, ...]
) -> None:
    """In float64, which bfloat16 layers keep."""
    plain = Design(ResNet18(1, (3, 8, 8)), {}, {}).born(KEY, 3, torch.float64)
    backbone = Counting(ResNet18(1, (3, 8, 8), **layers))
    net = replace(plain, design=Design(backbone, {}, {}))
    batches = [pictures(seed, n) for seed, n in enumerate(sizes)]
    found = net.features_apart(*batches)
    wanted = [plain.features(x) for x in batches]
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)
    assert list(net.stats) == list(plain.stats)
    torch.testing.assert_close(net.stats, plain.stats, rtol=1e-9, atol=1e-12)
    assert backbone.passes == (1 if layers and len(set(sizes)) == 1 else len(sizes))


@pytest.mark.parametrize("layers", [{}, {"fused": True}, {"precision": "bf16"}], ids=str)
def test_batches_apart_move_no_statistics_in_place(layers: dict[str, Any]) -> None:
    net = Design(ResNet18(1, (3, 8, 8), **layers), {}, {}).born(KEY, 3, torch.float64)
    held = net.stats
    before = snapshot(held)
    net.copy().features_apart(pictures(0), pictures(1))
    assert same(snapshot(net.stats), before)
    net.features_apart(pictures(0), pictures(1))
    assert same(snapshot(held), before)
    assert not same(snapshot(net.stats), before)


def test_two_threads_share_one_network() -> None:
    """Modes, statistics and gradients of one thread must not reach the other."""
    net = born()
    inputs = [pictures(seed) for seed in range(40)]

    def work(x: Tensor) -> list[Tensor]:
        _, grads = net.copy().grad(ce(x))
        return [net(x, "linear", "eval"), net(x, "linear", "batch"), *tree.leaves(grads)]

    alone = [work(x) for x in inputs]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(work, inputs))
    for one, other in zip(alone, together, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_grad_under_vmap_equals_a_loop() -> None:
    nets, inputs = [born(seed) for seed in range(3)], [pictures(seed) for seed in range(3)]

    def one(net: Net, x: Tensor) -> tuple[Tensor, Params, dict[str, Tensor]]:
        net = net.copy()
        loss, grads = net.grad(lambda live: ce(x)(live) + ce(x.flip(0), "batch")(live))
        return loss, grads, net.stats

    together = tree.vectorised(one)(tree.stack(nets), torch.stack(inputs))
    for i in range(3):
        alone = tree.named(one(nets[i], inputs[i]))
        found = tree.named(tree.pick(together, i))
        assert found.keys() == alone.keys()
        for name, value in alone.items():
            torch.testing.assert_close(found[name], value, rtol=1e-10, atol=1e-13)


def test_a_loss_may_keep_tensors_looped_and_under_vmap() -> None:
    def one(net: Net, x: Tensor) -> Any:
        def loss(live: Net) -> tuple[Tensor, dict[str, Tensor]]:
            logits = live(x, "linear")
            return logits.square().mean(), {"logits": logits[:2]}

        return net.grad_with(loss)

    nets, x = [born(0), born(1)], pictures()
    alone = [one(net.copy(), x) for net in nets]
    for net, (loss, grads, kept) in zip(nets, alone, strict=True):
        assert not kept["logits"].requires_grad
        torch.testing.assert_close(kept["logits"], net(x, "linear", "batch")[:2])
        plain_loss, plain = net.copy().grad(lambda live: live(x, "linear").square().mean())
        assert torch.equal(loss, plain_loss)
        assert all(map(torch.equal, tree.leaves(grads), tree.leaves(plain)))
    together = tree.vectorised(one)(tree.stack(nets), torch.stack([x, x]))
    torch.testing.assert_close(tree.leaves(together), tree.leaves(tree.stack(alone)))


def test_unused_parameters_get_zeros_under_vmap_too() -> None:
    def one(net: Net, x: Tensor) -> Params:
        return net.grad(ce(x))[1]

    grads = tree.vectorised(one)(tree.stack([born(0), born(1)]), torch.stack([pictures()] * 2))
    assert grads["spare"]["weight"].shape == (2, 3, 8)
    unused = tree.leaves((grads["spare"], grads["scalars"]))
    assert len(unused) == 3
    assert not any(leaf.any() for leaf in unused)


def test_scalars_are_declared_and_set() -> None:
    net = born()
    assert net.scalar("a") == 0.5
    assert net.scalar("a").dtype == torch.float64
    assert net.with_scalar("a", -2.0).scalar("a") == -2
    assert net.scalar("a") == 0.5
    _, grads = net.grad(lambda live: live.scalar("a") ** 2)
    assert grads["scalars"]["a"] == 1.0


def test_birth_depends_on_the_seed_alone() -> None:
    assert same(snapshot(born(1)), snapshot(born(1)))
    assert not torch.equal(born(0).weight("linear"), born(1).weight("linear"))
    single = DESIGN.born(KEY, 3, torch.float32)
    assert single.dtype == torch.float32
    for name, value in tree.named(single.params).items():
        assert torch.equal(value.double(), tree.named(born().params)[name])
    assert all(leaf.dtype == torch.float32 for leaf in tree.leaves(single))


def test_old_rows_keep_their_birth_when_classes_are_added() -> None:
    grown = DESIGN.born(KEY, 6, torch.float64)
    for head in ("linear", "spare"):
        assert torch.equal(grown.weight(head)[:3], born().weight(head))


def test_convolution_weights_are_kept_channels_last() -> None:
    net = Design(ResNet18(2), {}, {}).born(KEY, 3, torch.float32)
    weight = net.params["backbone"]["layer1.0.first.weight"]
    assert weight.is_contiguous(memory_format=torch.channels_last)
    _, grads = net.grad(lambda live: live.features(torch.ones(2, 3, 32, 32)).sum())
    ahead = net.step(grads, 0.1).params["backbone"]["layer1.0.first.weight"]
    assert ahead.is_contiguous(memory_format=torch.channels_last)

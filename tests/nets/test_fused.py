"""The fused layers are the plain ones: whole passes of a ResNet-18, parts, gradients, precision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from bison_ocl import tree
from bison_ocl.nets.norm import Mode
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.rng import key_of
from tests.nets.plain import numbers
from tests.tiny import same, snapshot

Shape = tuple[int, int, int]
SMALL: Shape = (3, 9, 12)
SHAPES: list[Shape] = [(3, 32, 32), (3, 84, 84), SMALL, (3, 5, 5), (1, 10, 17)]
MODES: list[Mode] = ["train", "batch", "eval"]

Values = dict[str, Tensor]


def pair(shape: Shape, filters: int = 2) -> tuple[ResNet18, ResNet18]:
    """The plain network and the fused one."""
    plain = ResNet18(filters, shape)
    return plain, replace(plain, fused=True)


def begun(
    net: ResNet18, seed: int = 0, dtype: torch.dtype = torch.float64
) -> tuple[Values, Values]:
    """Parameters and statistics as after some training: nothing at zero or one."""
    params = {name: value.to(dtype) for name, value in net.parameters(key_of(seed, 0, "i")).items()}
    for place, name in enumerate(params):
        if not name.endswith(".weight"):
            own = numbers(*params[name].shape, seed=seed + place, dtype=dtype)
            params[name] = params[name] + 0.3 * own
    stats = {
        name: value + 0.5 * numbers(*value.shape, seed=seed + place, dtype=dtype).abs()
        for place, (name, value) in enumerate(net.statistics(params).items())
    }
    return params, stats


def pictures(n: int, shape: Shape, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return numbers(n, *shape, seed=seed, dtype=dtype).sigmoid()


def assert_close(found: Any, wanted: Any, part: float = 1e-10) -> None:
    """Every leaf to a part of its largest number."""
    ours, theirs = tree.named(found), tree.named(wanted)
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert (ours[name].shape, ours[name].dtype) == (value.shape, value.dtype), name
        assert (ours[name] - value).abs().max() <= part * value.abs().max(), name


def gradients(net: ResNet18, params: Values, stats: Values, x: Tensor, parts: int = 1) -> Values:
    live = {name: value.detach().requires_grad_() for name, value in params.items()}
    z, _ = net(live, stats, x, "train", parts)
    weights = numbers(*z.shape, seed=9, dtype=z.dtype)
    found = torch.autograd.grad((z * weights).sum(), list(live.values()))
    return dict(zip(live, found, strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_pass_gives_the_same_features_and_statistics(shape: Shape, mode: Mode) -> None:
    plain, fused = pair(shape)
    params, stats = begun(plain)
    before, x = snapshot({"params": params, "stats": stats}), pictures(4, shape)
    wanted = plain(params, stats, x, mode)
    assert_close(fused(params, stats, x, mode), wanted)
    assert wanted[0].shape == (4, plain.features)
    assert same(snapshot({"params": params, "stats": stats}), before)


@pytest.mark.parametrize("fused", [False, True], ids=["plain", "fused"])
def test_statistics_keep_their_order(fused: bool) -> None:
    """A state before a step and after it are compared, copied and stacked leaf by leaf."""
    net = pair(SMALL)[fused]
    params, stats = begun(net)
    assert list(net(params, stats, pictures(2, SMALL), "train")[1]) == list(stats)


@pytest.mark.parametrize("shape", [(3, 32, 32), SMALL], ids=str)
def test_gradients_are_the_same(shape: Shape) -> None:
    plain, fused = pair(shape)
    params, stats = begun(plain)
    x = pictures(4, shape)
    assert_close(gradients(fused, params, stats, x), gradients(plain, params, stats, x), 1e-8)


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_are_passes_one_after_the_other(parts: int) -> None:
    plain, fused = pair(SMALL)
    params, stats = begun(plain)
    batches = [pictures(4, SMALL, seed) for seed in range(parts)]
    found = fused(params, stats, torch.cat(batches), "train", parts)
    features = []
    for batch in batches:
        z, stats = plain(params, stats, batch, "train")
        features.append(z)
    assert_close(found, (torch.cat(features), stats))


def test_the_gradient_of_parts_is_that_of_passes() -> None:
    plain, fused = pair(SMALL)
    params, stats = begun(plain)
    one, other = pictures(4, SMALL, 0), pictures(4, SMALL, 1)
    found = gradients(fused, params, stats, torch.cat([one, other]), parts=2)
    live = {name: value.requires_grad_() for name, value in params.items()}
    z = torch.cat([plain(live, stats, x, "train")[0] for x in (one, other)])
    wanted = torch.autograd.grad((z * numbers(*z.shape, seed=9)).sum(), list(live.values()))
    assert_close(found, dict(zip(live, wanted, strict=True)), 1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_runs_under_vmap_equal_a_loop(mode: Mode) -> None:
    plain, fused = pair(SMALL)
    runs = [(*begun(plain, seed), pictures(4, SMALL, seed)) for seed in range(3)]
    together = tree.vectorised(lambda p, s, x: fused(p, s, x, mode))(*tree.stack(runs))
    for run, values in enumerate(runs):
        assert_close(tree.pick(together, run), plain(*values, mode))


def test_statistics_of_many_runs_lie_as_those_they_replace() -> None:
    """Then a graph puts all of them in their places with one kernel."""
    _, fused = pair(SMALL)
    runs = tree.stack([(*begun(fused, seed), pictures(4, SMALL, seed)) for seed in range(3)])

    def moved(params: Values, stats: Values, x: Tensor) -> Values:
        def loss(params: Values) -> tuple[Tensor, Values]:
            z, after = fused(params, stats, x, "train")
            return z.sum(), after

        return torch.func.grad(loss, has_aux=True)(params)[1]

    found = tree.vectorised(moved)(*runs)
    assert {name: value.stride() for name, value in found.items()} == {
        name: value.stride() for name, value in runs[1].items()
    }


class Made(TorchDispatchMode):
    """The operators that a block calls."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def test_gradients_make_no_zeros_for_moments() -> None:
    _, fused = pair(SMALL)
    params, stats = begun(fused)
    with Made() as made:
        gradients(fused, params, stats, pictures(4, SMALL))
    assert "bison_ocl::normalise_back" in made.names
    assert "aten::zeros" not in made.names


def test_predictions_prepare_the_normalisation_of_all_layers_at_once() -> None:
    """Else most kernels of a prediction are for vectors of one number per channel."""
    _, fused = pair(SMALL)
    params, stats = begun(fused)
    with torch.no_grad(), Made() as made:
        fused(params, stats, pictures(1, SMALL), "eval")
    assert made.names.count("bison_ocl::convolve") == 20
    assert made.names.count("aten::rsqrt") == 1
    assert made.names.count("aten::mul.Tensor") == 2


def test_statistics_carry_no_gradient() -> None:
    _, fused = pair(SMALL)
    params, stats = begun(fused)
    live = {name: value.requires_grad_() for name, value in params.items()}
    z, moved = fused(live, stats, pictures(4, SMALL), "train")
    assert z.requires_grad
    assert not any(value.requires_grad for value in moved.values())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fused", [False, True], ids=["plain", "fused"])
def test_bfloat16_is_close_to_float32_and_stays_inside(fused: bool, mode: Mode) -> None:
    net = replace(pair((3, 32, 32), 8)[fused], precision="bf16")
    params, stats = begun(net, dtype=torch.float32)
    x = pictures(8, (3, 32, 32), dtype=torch.float32)
    z, moved = net(params, stats, x, mode)
    exact, exactly_moved = replace(net, precision="fp32")(params, stats, x, mode)
    assert {value.dtype for value in (z, *moved.values())} == {torch.float32}
    assert 0 < (z - exact).norm() < 0.05 * exact.norm()
    assert moved.keys() == exactly_moved.keys()
    for name, value in exactly_moved.items():
        assert (moved[name] - value).norm() < 0.03 * value.norm(), name


def test_bfloat16_leaves_gradients_in_float32_as_near_as_plain_layers_do() -> None:
    nets = [replace(net, precision="bf16") for net in pair(SMALL, 8)]
    params, stats = begun(nets[0], dtype=torch.float32)
    x = pictures(16, SMALL, dtype=torch.float32)
    exact = gradients(replace(nets[0], precision="fp32"), params, stats, x)
    apart = []
    for net in nets:
        found = gradients(net, params, stats, x)
        assert {value.dtype for value in found.values()} == {torch.float32}
        errors = [(found[name] - value).square().sum() for name, value in exact.items()]
        apart.append(float(torch.stack(errors).sum().sqrt()))
    plain, fused = apart
    size = float(torch.stack([value.square().sum() for value in exact.values()]).sum().sqrt())
    assert 0 < fused < 1.2 * plain < 0.5 * size


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("parts", [1, 2])
def test_a_single_number_a_channel(parts: int, mode: Mode) -> None:
    """The last layers of one small image; its running statistics serve and stay."""
    plain, fused = pair((3, 8, 8))
    params, stats = begun(plain)
    images, features = pictures(parts, (3, 8, 8)), []
    found = fused(params, stats, images, mode, parts)
    for image in images.split(1):
        z, moved = plain(params, stats, image, mode)
        stats = moved or stats
        features.append(z)
    assert_close(found, (torch.cat(features), moved))

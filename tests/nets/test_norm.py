"""Batch normalisation as a function, against nn.BatchNorm2d."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from bison_ocl.nets.norm import Mode, Norm

WIDTH = 3


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def params(seed: int = 1) -> dict[str, Tensor]:
    return {"n.scale": numbers(WIDTH, seed=seed), "n.shift": numbers(WIDTH, seed=seed + 1)}


def stats(seed: int = 3) -> dict[str, Tensor]:
    return {"n.mean": numbers(WIDTH, seed=seed), "n.variance": numbers(WIDTH, seed=seed).exp()}


def plain() -> nn.BatchNorm2d:
    module = nn.BatchNorm2d(WIDTH).double()
    with torch.no_grad():
        module.weight.copy_(params()["n.scale"])
        module.bias.copy_(params()["n.shift"])
        module.running_mean.copy_(stats()["n.mean"])
        module.running_var.copy_(stats()["n.variance"])
    return module


def test_train_uses_batch_statistics_and_moves_the_running_ones() -> None:
    norm, module, x = Norm(params(), stats(), "train"), plain().train(), numbers(4, WIDTH, 5, 5)
    torch.testing.assert_close(norm("n", x), module(x))
    torch.testing.assert_close(norm.moved["n.mean"], module.running_mean)
    torch.testing.assert_close(norm.moved["n.variance"], module.running_var)


def test_batch_uses_batch_statistics_and_moves_nothing() -> None:
    norm, x = Norm(params(), stats(), "batch"), numbers(4, WIDTH, 5, 5)
    torch.testing.assert_close(norm("n", x), plain().train()(x))
    assert norm.moved == {}


def test_eval_uses_running_statistics_and_moves_nothing() -> None:
    norm, x = Norm(params(), stats(), "eval"), numbers(4, WIDTH, 5, 5)
    torch.testing.assert_close(norm("n", x), plain().eval()(x))
    assert norm.moved == {}


@pytest.mark.parametrize("mode", ["train", "batch", "eval"])
def test_the_statistics_given_are_never_changed_in_place(mode: Mode) -> None:
    given = stats()
    norm = Norm(params(), given, mode)
    norm("n", numbers(4, WIDTH, 5, 5))
    assert all(torch.equal(given[name], value) for name, value in stats().items())
    assert all(norm.moved[name] is not given[name] for name in norm.moved)


def test_moved_statistics_carry_no_gradient() -> None:
    weights = {name: value.requires_grad_() for name, value in params().items()}
    norm = Norm(weights, stats(), "train")
    norm("n", numbers(4, WIDTH, 5, 5).requires_grad_())
    assert not any(value.requires_grad for value in norm.moved.values())


@pytest.mark.parametrize("mode", ["train", "batch", "eval"])
def test_stacked_runs_under_vmap_equal_a_loop(mode: Mode) -> None:
    """Warnings are errors here: no fallback of vmap either."""
    runs = [
        (params(seed), stats(seed + 10), numbers(4, WIDTH, 5, 5, seed=seed)) for seed in range(3)
    ]

    def one(p: dict, s: dict, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        norm = Norm(p, s, mode)
        return norm("n", x), norm.moved

    stacked = [
        {name: torch.stack([run[i][name] for run in runs]) for name in runs[0][i]} for i in (0, 1)
    ]
    out, moved = torch.func.vmap(one)(*stacked, torch.stack([run[2] for run in runs]))
    for i, run in enumerate(runs):
        alone, alone_moved = one(*run)
        torch.testing.assert_close(out[i], alone)
        for name, value in alone_moved.items():
            torch.testing.assert_close(moved[name][i], value)


@pytest.mark.parametrize("mode", ["train", "batch"])
def test_one_number_a_channel_is_normalised_by_the_running_statistics(mode: Mode) -> None:
    x = numbers(1, WIDTH, 1, 1)
    norm = Norm(params(), stats(), mode)
    torch.testing.assert_close(norm("n", x), plain().eval()(x))
    assert all(torch.equal(value, stats()[name]) for name, value in norm.moved.items())

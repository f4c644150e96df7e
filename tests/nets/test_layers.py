"""The layers by PyTorch's own operators, in every precision."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.nets.layers import Layers
from bison_ocl.nets.precision import Precision
from tests.nets.plain import numbers

STATS = {"a.mean": torch.zeros(4), "a.variance": torch.ones(4)}


def params() -> dict[str, Tensor]:
    return {
        "a.weight": numbers(4, 3, 3, 3, dtype=torch.float32),
        "a.scale": numbers(4, seed=1, dtype=torch.float32),
        "a.shift": numbers(4, seed=2, dtype=torch.float32),
    }


def passed(precision: Precision, relu: bool = True, residual: Tensor | None = None) -> Tensor:
    x = numbers(5, 3, 6, 7, seed=3, dtype=torch.float32)
    return Layers(params(), STATS, "batch", precision)("a", x, 2, residual, relu)


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("add", [True, False])
def test_a_layer_is_convolution_normalisation_addition_and_relu(relu: bool, add: bool) -> None:
    own, x = params(), numbers(5, 3, 6, 7, seed=3, dtype=torch.float32)
    y = F.conv2d(x, own["a.weight"], stride=2, padding=1)
    y = F.batch_norm(y, None, None, own["a.scale"], own["a.shift"], training=True)
    residual = numbers(*y.shape, seed=4, dtype=torch.float32) if add else None
    y = y if residual is None else y + residual
    assert torch.equal(passed("fp32", relu, residual), y.relu() if relu else y)


def test_tf32_changes_nothing_on_the_cpu() -> None:
    assert torch.equal(passed("tf32"), passed("fp32"))


def test_bfloat16_is_of_the_convolutions_alone() -> None:
    """Images go in rounded; what comes out is normalised in float32: unit variance, not rounded."""
    y = passed("bf16", relu=False)
    own = params()
    assert y.dtype == torch.float32
    unit = (y - own["a.shift"][:, None, None]) / own["a.scale"][:, None, None]
    torch.testing.assert_close(unit.mean((0, 2, 3)), torch.zeros(4), rtol=0, atol=1e-5)
    torch.testing.assert_close(unit.var((0, 2, 3), correction=0), torch.ones(4), rtol=1e-4, atol=0)
    assert not torch.equal(y, y.bfloat16().float())
    exact = passed("fp32", relu=False)
    assert 0 < (y - exact).norm() < 0.01 * exact.norm()


def test_bfloat16_leaves_gradients_and_statistics_in_float32() -> None:
    own = {name: value.requires_grad_() for name, value in params().items()}
    layers = Layers(own, STATS, "train", "bf16")
    z, moved = layers.leave(layers("a", numbers(5, 3, 8, 8, dtype=torch.float32)), 4)
    grads = torch.autograd.grad(z.square().sum(), list(own.values()))
    assert {value.dtype for value in (z, *moved.values(), *grads)} == {torch.float32}
    assert z.shape == (5, 16)

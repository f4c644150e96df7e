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
    layers = Layers(params(), STATS, "batch", precision)
    return layers("a", layers.enter(x), 2, residual, relu)


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


def test_bfloat16_is_of_convolutions_and_images_and_sums_are_float32() -> None:
    """The normalisation sees rounded images and rounds its result once."""
    own, x = params(), numbers(5, 3, 6, 7, seed=3, dtype=torch.float32)
    y = F.conv2d(x.bfloat16(), own["a.weight"].bfloat16(), stride=2, padding=1).float()
    y = F.batch_norm(y, None, None, own["a.scale"], own["a.shift"], training=True)
    found = passed("bf16", relu=False)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), y, rtol=2**-8, atol=1e-6)
    exact = passed("fp32", relu=False)
    assert 0 < (found - exact).norm() < 0.01 * exact.norm()


def test_bfloat16_leaves_gradients_and_statistics_in_float32() -> None:
    own = {name: value.requires_grad_() for name, value in params().items()}
    layers = Layers(own, STATS, "train", "bf16")
    z, moved = layers.leave(layers("a", layers.enter(numbers(5, 3, 8, 8, dtype=torch.float32))), 4)
    grads = torch.autograd.grad(z.square().sum(), list(own.values()))
    assert {value.dtype for value in (z, *moved.values(), *grads)} == {torch.float32}
    assert z.shape == (5, 16)

"""The layers by PyTorch's own operators, in every precision."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.nets.layers import Layers, convolved
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


@pytest.mark.parametrize("side", [6, 7])
def test_a_shortcut_of_few_channels_is_the_same_convolution(side: int) -> None:
    x, weight = numbers(6, 4, side, side, dtype=torch.float64), numbers(8, 4, 1, 1, seed=1)
    expected = torch.einsum("nchw,dc->ndhw", x, weight[..., 0, 0])[..., ::2, ::2]
    torch.testing.assert_close(convolved(x, weight, 2), expected)


def test_few_filters_learn_from_large_images() -> None:
    """The shortcut's gradient wrote beyond its memory: the process died, at once or at its end."""
    code = """
import numpy as np
from bison_ocl import Learner
images = np.random.default_rng(0).integers(0, 256, (10, 64, 64, 3), np.uint8)
learner = Learner("er", memory=20, filters=4)
for _ in range(3):
    learner.observe(images, [1] * 10)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

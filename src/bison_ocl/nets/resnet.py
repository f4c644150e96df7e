"""ResNet-18 without max-pooling: "reduced" with 20 filters, full with 64 (He et al. 2016).

The variant of online continual learning (Lopez-Paz & Ranzato 2017): 3x3 stem of stride 1, average
pooling with a window of 4. It is a function of its parameters, so that threads, vmap and gradients
share one code path. Initial weights are uniform in ±1/√fan_in, as in PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

import torch
from torch import Tensor

from bison_ocl.nets.fused import Fused
from bison_ocl.nets.layers import Layers
from bison_ocl.nets.norm import Mode
from bison_ocl.nets.precision import Precision
from bison_ocl.rng import Key, uniform
from bison_ocl.tree import Tensors

POOL = 4


@dataclass(frozen=True)
class Block:
    """Two 3x3 convolutions with a shortcut."""

    name: str
    inputs: int
    outputs: int
    stride: int

    @property
    def reshapes(self) -> bool:
        """Whether the shortcut needs a 1x1 convolution."""
        return self.stride != 1 or self.inputs != self.outputs


@dataclass(frozen=True)
class ResNet18:
    """Images [B, 3, H, W] to features [B, d]; d = 160 at 32x32 and 640 at 84x84 for 20 filters."""

    filters: int = 20
    shape: tuple[int, int, int] = (3, 32, 32)
    precision: Precision = "tf32"
    """of the convolutions"""
    fused: bool = False
    """layers for many runs on a GPU, with separate statistics for parts of a batch"""

    @property
    def shares_passes(self) -> bool:
        """In bfloat16 too: one large convolution is faster than two; float32 keeps its bits."""
        return self.fused or self.precision == "bf16"

    @property
    def blocks(self) -> list[Block]:
        widths = [self.filters * 2**stage for stage in range(4)]
        inputs = [self.filters, *widths]
        return [
            Block(
                f"layer{s + 1}.{b}",
                widths[s] if b else inputs[s],
                widths[s],
                2 if s and not b else 1,
            )
            for s in range(4)
            for b in range(2)
        ]

    @property
    def features(self) -> int:
        """The length of a feature vector."""
        sides = [-(-side // 8) for side in self.shape[1:]]  # three halvings, rounded up
        return self.filters * 8 * prod(side // min(POOL, *sides) for side in sides)

    def parameters(self, key: Key) -> Tensors:
        """Initial weights; each layer has a draw of its name."""
        shapes = {"stem": (self.filters, self.shape[0], 3, 3)}
        for block in self.blocks:
            shapes[f"{block.name}.first"] = (block.outputs, block.inputs, 3, 3)
            shapes[f"{block.name}.second"] = (block.outputs, block.outputs, 3, 3)
            if block.reshapes:
                shapes[f"{block.name}.shortcut"] = (block.outputs, block.inputs, 1, 1)
        params: Tensors = {}
        for name, shape in shapes.items():
            params[f"{name}.weight"] = fan_in_uniform(key.named(name), shape)
            params[f"{name}.scale"] = torch.ones(shape[0], device=key.bits.device)
            params[f"{name}.shift"] = torch.zeros(shape[0], device=key.bits.device)
        return params

    def statistics(self, params: Tensors) -> Tensors:
        """Running means and variances before the first batch."""
        stats: Tensors = {}
        for name, value in params.items():
            if name.endswith(".shift"):
                stats[name.replace(".shift", ".mean")] = torch.zeros_like(value)
                stats[name.replace(".shift", ".variance")] = torch.ones_like(value)
        return stats

    def __call__(
        self, params: Tensors, stats: Tensors, x: Tensor, mode: Mode, parts: int = 1
    ) -> tuple[Tensor, Tensors]:
        """Non-negative features, and the statistics after this pass."""
        layers: Layers | Fused
        if self.fused:
            layers = Fused(params, stats, mode, self.precision, parts)
        else:
            layers = Layers(params, stats, mode, self.precision, parts)
        x = layers("stem", layers.enter(x))
        for block in self.blocks:
            residual = x
            if block.reshapes:
                residual = layers(f"{block.name}.shortcut", x, block.stride, relu=False)
            inner = layers(f"{block.name}.first", x, block.stride)
            x = layers(f"{block.name}.second", inner, residual=residual)
        z, moved = layers.leave(x, POOL)
        # In the original order, because leaves of states are matched by position.
        return z, {name: moved[name] for name in stats if name in moved}


def fan_in_uniform(key: Key, shape: tuple[int, ...]) -> Tensor:
    """Uniform in ±1/√fan_in: PyTorch's default for convolutions and linear layers."""
    return (uniform(key, shape) * 2 - 1) / sqrt(prod(shape[1:]))

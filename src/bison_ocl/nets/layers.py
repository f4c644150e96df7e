"""Layers of a residual network with PyTorch's own operators."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.nets.norm import Mode, Norm
from bison_ocl.nets.precision import Precision, image_type
from bison_ocl.tree import Tensors

SAFE_CHANNELS = 16
"""channels from which strided convolutions by one pixel are safe on CPUs: with torch 2.13, those of
2, 4, 8 and 12 wrote beyond their memory, those of 16, 20, 32 and 40 did not"""


class Layers:
    """All layers of one forward pass; `moved` collects the updated statistics."""

    def __init__(
        self, params: Tensors, stats: Tensors, mode: Mode, precision: Precision, parts: int = 1
    ) -> None:
        """parts: consecutive batches of one size with batch statistics of their own"""
        self.params, self.parts = params, parts
        self.dtype = next(iter(params.values())).dtype
        self.images = image_type(precision, self.dtype)
        self.norm = Norm(params, stats, mode)

    def enter(self, x: Tensor) -> Tensor:
        """Images as the layers take them. x: [B, C, H, W]"""
        return x.to(self.images)

    def __call__(
        self,
        name: str,
        x: Tensor,
        stride: int = 1,
        residual: Tensor | None = None,
        relu: bool = True,
    ) -> Tensor:
        """Convolution, batch normalisation, addition of the shortcut, ReLU."""
        weight = self.params[f"{name}.weight"]
        y = self._normalised(name, convolved(x, weight.to(self.images), stride))
        y = y if residual is None else y + residual
        return F.relu(y) if relu else y

    def _normalised(self, name: str, y: Tensor) -> Tensor:
        """Each part by itself. Sums and statistics are float32, whatever the images are kept in."""
        if self.parts == 1:
            return self.norm(name, y)
        return torch.cat([self.norm(name, part) for part in y.chunk(self.parts)])

    def leave(self, x: Tensor, window: int) -> tuple[Tensor, Tensors]:
        """Features by average pooling, one row per image; and the statistics."""
        return F.avg_pool2d(x.to(self.dtype), min(window, *x.shape[2:])).flatten(1), self.norm.moved


def convolved(x: Tensor, weight: Tensor, stride: int) -> Tensor:
    """Convolution by a square kernel that keeps the size of an image but for the stride.

    Skipping pixels first is the same for a kernel of one pixel. With few channels it is necessary:
    the gradient of PyTorch's (oneDNN's) convolution on a CPU writes beyond its memory there.
    """
    if weight.shape[-1] == 1 and weight.shape[1] < SAFE_CHANNELS:
        x, stride = x[..., ::stride, ::stride], 1
    return F.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)

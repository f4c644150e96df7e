"""Layers of a residual network with PyTorch's own operators."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from bison_ocl.nets.norm import Mode, Norm
from bison_ocl.nets.precision import Precision, image_type


class Layers:
    """All layers of one forward pass; `moved` collects the updated statistics."""

    def __init__(
        self, params: dict[str, Tensor], stats: dict[str, Tensor], mode: Mode, precision: Precision
    ) -> None:
        self.params, self.precision = params, precision
        self.norm = Norm(params, stats, mode)

    def enter(self, x: Tensor) -> Tensor:
        """Images as the layers take them. x: [B, C, H, W]"""
        return x

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
        dtype = image_type(self.precision, weight.dtype)
        y = F.conv2d(x.to(dtype), weight.to(dtype), stride=stride, padding=weight.shape[-1] // 2)
        y = self.norm(name, y.to(weight.dtype))
        y = y if residual is None else y + residual
        return F.relu(y) if relu else y

    def leave(self, x: Tensor, window: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Features by average pooling, one row per image; and the statistics."""
        return F.avg_pool2d(x, min(window, *x.shape[2:])).flatten(1), self.norm.moved

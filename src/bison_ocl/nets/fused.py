"""Layers for many runs on a GPU: channels last, few kernels, separate batch statistics."""

from __future__ import annotations

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.nets.kernels.convolution import convolution
from bison_ocl.nets.kernels.normalisation import normalisation
from bison_ocl.nets.norm import EPSILON, MOMENTUM, Mode
from bison_ocl.nets.precision import Precision, image_type


class Fused:
    """All layers of one forward pass over `parts` consecutive batches of one size."""

    def __init__(
        self,
        params: dict[str, Tensor],
        stats: dict[str, Tensor],
        mode: Mode,
        precision: Precision,
        parts: int,
    ) -> None:
        self.params, self.stats, self.mode = params, stats, mode
        self.precision, self.parts = precision, parts
        self.dtype = params["stem.weight"].dtype
        self.found: dict[str, Tensor] = {}

    def enter(self, x: Tensor) -> Tensor:
        """[B, C, H, W] -> [B, H, W, C]"""
        return x.permute(0, 2, 3, 1).to(image_type(self.precision, self.dtype)).contiguous()

    def __call__(
        self,
        name: str,
        x: Tensor,
        stride: int = 1,
        residual: Tensor | None = None,
        relu: bool = True,
    ) -> Tensor:
        """Convolution, batch normalisation, addition of the shortcut, ReLU."""
        scale, shift = self.params[f"{name}.scale"], self.params[f"{name}.shift"]
        y = convolution(x, self.params[f"{name}.weight"], stride, self.precision)
        pixels = y[..., 0].numel() // self.parts
        if self.mode == "eval" or pixels == 1:  # one number has no variance
            return self._by_running_statistics(name, y, scale, shift, residual, relu)
        y, mean, variance = normalisation(y, scale, shift, residual, relu, self.parts)
        self.found[f"{name}.mean"] = mean.detach()
        self.found[f"{name}.variance"] = variance.detach() * (pixels / (pixels - 1))
        return y

    def _by_running_statistics(
        self,
        name: str,
        y: Tensor,
        scale: Tensor,
        shift: Tensor,
        residual: Tensor | None,
        relu: bool,
    ) -> Tensor:
        mean, variance = self.stats[f"{name}.mean"], self.stats[f"{name}.variance"]
        slope = scale * (variance + EPSILON).rsqrt()
        y = torch.addcmul(shift - mean * slope, y.to(scale.dtype), slope).to(y.dtype)
        y = y if residual is None else y + residual
        return y.relu() if relu else y

    def leave(self, x: Tensor, window: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Features by average pooling, one row per image, channels first; and the statistics."""
        size = min(window, *x.shape[1:3])
        rows, columns = x.shape[1] // size, x.shape[2] // size
        whole = x[:, : rows * size, : columns * size].to(self.dtype)
        windows = torch.unflatten(torch.unflatten(whole, 2, (columns, size)), 1, (rows, size))
        return windows.mean((2, 4)).permute(0, 3, 1, 2).flatten(1), self.moved()

    def moved(self) -> dict[str, Tensor]:
        """Running statistics after each part in turn, for all layers together."""
        if self.mode != "train":
            return {}
        names = list(self.found)
        now = torch.cat([self.stats[name] for name in names])
        for values in torch.cat([self.found[name] for name in names], dim=1).unbind():
            now = torch.lerp(now, values.to(now.dtype), MOMENTUM)
        sizes = [len(self.stats[name]) for name in names]
        own = list(torch.split(now, sizes))
        if tree.under_vmap(now):  # runs are strided in each: keeping the layout would take a kernel
            own = [values.clone() for values in own]
        return self.stats | dict(zip(names, own, strict=True))

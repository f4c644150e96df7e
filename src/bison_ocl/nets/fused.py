"""Layers for many runs on a GPU: channels last, few kernels, separate batch statistics."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.nets.kernels.affine import affine
from bison_ocl.nets.kernels.convolution import convolution
from bison_ocl.nets.kernels.normalisation import normalisation
from bison_ocl.nets.norm import EPSILON, MOMENTUM, Mode
from bison_ocl.nets.precision import Precision, image_type
from bison_ocl.tree import Tensors


class Fused:
    """All layers of one forward pass over `parts` consecutive batches of one size."""

    def __init__(
        self, params: Tensors, stats: Tensors, mode: Mode, precision: Precision, parts: int
    ) -> None:
        self.params, self.stats, self.mode = params, stats, mode
        self.precision, self.parts = precision, parts
        self.dtype = params["stem.weight"].dtype
        self.batch_stats: Tensors = {}

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
            return affine(y, *self._by_running_statistics[name], residual, relu)
        y, mean, variance = normalisation(y, scale, shift, residual, relu, self.parts)
        self.batch_stats[f"{name}.mean"] = mean.detach()
        self.batch_stats[f"{name}.variance"] = variance.detach() * (pixels / (pixels - 1))
        return y

    @cached_property
    def _by_running_statistics(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Each layer's normalisation as one scale and shift, of all layers in a few kernels."""
        names = [name.removesuffix(".mean") for name in self.stats if name.endswith(".mean")]
        scale, shift = (self._joined(self.params, names, kind) for kind in ("scale", "shift"))
        mean, variance = (self._joined(self.stats, names, kind) for kind in ("mean", "variance"))
        factor = scale * (variance + EPSILON).rsqrt()
        sizes = [len(self.params[f"{name}.scale"]) for name in names]
        both = (torch.split(values, sizes) for values in (factor, shift - mean * factor))
        return dict(zip(names, zip(*both, strict=True), strict=True))

    @staticmethod
    def _joined(tensors: Tensors, names: list[str], kind: str) -> Tensor:
        return torch.cat([tensors[f"{name}.{kind}"] for name in names])

    def leave(self, x: Tensor, window: int) -> tuple[Tensor, Tensors]:
        """Features by average pooling, one row per image, channels first; and the statistics."""
        size = min(window, *x.shape[1:3])
        rows, columns = x.shape[1] // size, x.shape[2] // size
        whole = x[:, : rows * size, : columns * size].to(self.dtype)
        windows = torch.unflatten(torch.unflatten(whole, 2, (columns, size)), 1, (rows, size))
        return windows.mean((2, 4)).permute(0, 3, 1, 2).flatten(1), self.moved()

    def moved(self) -> Tensors:
        """Running statistics after each part in turn, for all layers together."""
        if self.mode != "train":
            return {}
        names = list(self.batch_stats)
        now = torch.cat([self.stats[name] for name in names])
        for values in torch.cat([self.batch_stats[name] for name in names], dim=1).unbind():
            now = torch.lerp(now, values.to(now.dtype), MOMENTUM)
        sizes = [len(self.stats[name]) for name in names]
        moved = list(torch.split(now, sizes))
        if tree.under_vmap(now):  # runs are strided in each: keeping the layout would take a kernel
            moved = [values.clone() for values in moved]
        return self.stats | dict(zip(names, moved, strict=True))

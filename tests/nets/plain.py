"""What the fused layers compute, as one would write it: one run, autograd, no tricks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from bison_ocl.nets.norm import EPSILON


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Normal numbers that float32 holds exactly, and bfloat16 too if that is asked for."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype)


def convolved(x: Tensor, weight: Tensor, stride: int) -> Tensor:
    """x: [N, H, W, C], weight: [O, k, k, C] -> [N, H', W', O]"""
    planes, filters = x.permute(0, 3, 1, 2), weight.permute(0, 3, 1, 2)
    y = F.conv2d(planes, filters, stride=stride, padding=weight.shape[1] // 2)
    return y.permute(0, 2, 3, 1)


def moments(x: Tensor, parts: int) -> tuple[Tensor, Tensor]:
    """Means and variances of each part of a batch. x: [B, H, W, C] -> [parts, C], [parts, C]"""
    chunks = [chunk.flatten(0, 2) for chunk in x.chunk(parts)]
    means = torch.stack([chunk.mean(0) for chunk in chunks])
    return means, torch.stack([chunk.var(0, correction=0) for chunk in chunks])


def normalised(
    x: Tensor, scale: Tensor, shift: Tensor, residual: Tensor | None, relu: bool, parts: int
) -> Tensor:
    """x, residual: [B, H, W, C], scale, shift: [C] -> like x; each part normalised by itself"""
    rows = zip(x.chunk(parts), *moments(x, parts), strict=True)
    y = torch.cat([(part - mean) / (variance + EPSILON).sqrt() for part, mean, variance in rows])
    y = y * scale + shift
    y = y if residual is None else y + residual
    return y.relu() if relu else y


def slopes(y: Tensor, slope: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """The gradients of Σ y·slope in the inputs."""
    return torch.autograd.grad((y * slope).sum(), inputs)

"""Convolutions of images [N, H, W, C]; under vmap, of all runs in one kernel.

Custom operators, which tracing and compiling keep whole: Triton kernels on a GPU, PyTorch's
convolutions elsewhere. Zero padding; 3x3 or 1x1; strides of 1 or 2.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.grad import conv2d_input, conv2d_weight

from bison_ocl.nets.kernels.over_runs import in_line, serve_all_runs, takes_kernels, total_type
from bison_ocl.nets.kernels.tiles import goes_by_rows, gradient_walk, parts_of_gradient
from bison_ocl.nets.precision import Precision

ROUNDING = {"fp32": "ieee", "tf32": "tf32", "bf16": "tf32"}
"""rounding of float32 inputs in the kernels' matrix products"""


@torch.library.custom_op("bison_ocl::convolve", mutates_args=())
def convolve(x: Tensor, weight: Tensor, stride: int, rounding: str) -> Tensor:
    """x: [..., N, H, W, C], weight: [..., O, k, k, C] -> [..., N, H', W', O]; dots: axes of runs"""
    runs, filters = in_line(x, 4), in_line(weight, 4)
    if takes_kernels(x):
        from bison_ocl.nets.kernels import convolution_kernels

        y = convolution_kernels.convolve(runs, filters, stride, rounding)
    else:
        pairs = zip(to_planes(runs), to_planes(filters), strict=True)
        pad = weight.shape[-2] // 2
        planes = [F.conv2d(images, own, stride=stride, padding=pad) for images, own in pairs]
        y = torch.stack(planes).movedim(2, -1).contiguous()
    return y.reshape(*x.shape[:-4], *y.shape[1:])


@torch.library.custom_op("bison_ocl::image_gradient", mutates_args=())
def image_gradient(
    slope: Tensor, weight: Tensor, stride: int, height: int, width: int, rounding: str
) -> Tensor:
    """The image gradient of `convolve`. -> [..., N, height, width, C]"""
    slopes, filters = in_line(slope, 4), in_line(weight, 4)
    if takes_kernels(slope):
        from bison_ocl.nets.kernels import convolution_kernels

        to_x = convolution_kernels.image_gradient(slopes, filters, stride, height, width, rounding)
    else:
        shape = (slope.shape[-4], weight.shape[-1], height, width)
        planes = [
            conv2d_input(shape, own, at, stride, weight.shape[-2] // 2)  # type: ignore[no-untyped-call]
            for own, at in zip(to_planes(filters), to_planes(slopes), strict=True)
        ]
        to_x = torch.stack(planes).movedim(2, -1).contiguous()
    return to_x.reshape(*slope.shape[:-4], *to_x.shape[1:])


@torch.library.custom_op("bison_ocl::weight_gradient", mutates_args=())
def weight_gradient(x: Tensor, slope: Tensor, side: int, stride: int, rounding: str) -> Tensor:
    """The weight gradient of `convolve`, as parts to sum. -> [..., parts, O, k, k, C]"""
    runs, slopes = in_line(x, 4), in_line(slope, 4)
    if takes_kernels(x):
        from bison_ocl.nets.kernels import convolution_kernels

        count = parts(x, slope, side, stride)
        found = convolution_kernels.weight_gradient(runs, slopes, side, stride, count, rounding)
    else:
        shape = (slope.shape[-1], x.shape[-1], side, side)
        each = [
            conv2d_weight(images, shape, own, stride, side // 2)  # type: ignore[no-untyped-call]
            for images, own in zip(to_planes(runs), to_planes(slopes), strict=True)
        ]
        found = torch.stack(each).movedim(2, -1).to(total_type(x))[:, None].contiguous()
    return found.reshape(*x.shape[:-4], *found.shape[1:])


def parts(x: Tensor, slope: Tensor, side: int, stride: int) -> int:
    """The number of parts of the weight gradient."""
    if not takes_kernels(x):
        return 1
    images, height, width, inputs = x.shape[-4:]
    outputs = slope.shape[-1]
    if goes_by_rows(height, inputs, outputs, side, stride):
        return prod(gradient_walk(height).grid(images, height, width))
    runs, pixels = prod(x.shape[:-4]), prod(slope.shape[-4:-1])
    return parts_of_gradient(pixels, inputs, outputs, side, runs)


@convolve.register_fake
def _(x: Tensor, weight: Tensor, stride: int, rounding: str) -> Tensor:
    *runs, n, height, width, _ = x.shape
    return x.new_empty((*runs, n, -(-height // stride), -(-width // stride), weight.shape[-4]))


@image_gradient.register_fake
def _(slope: Tensor, weight: Tensor, stride: int, height: int, width: int, rounding: str) -> Tensor:
    return slope.new_empty((*slope.shape[:-3], height, width, weight.shape[-1]))


@weight_gradient.register_fake
def _(x: Tensor, slope: Tensor, side: int, stride: int, rounding: str) -> Tensor:
    filters = (slope.shape[-1], side, side, x.shape[-1])
    shape = (*x.shape[:-4], parts(x, slope, side, stride), *filters)
    return x.new_empty(shape, dtype=total_type(x))


serve_all_runs(convolve)
serve_all_runs(image_gradient)
serve_all_runs(weight_gradient)


class Convolution(torch.autograd.Function):
    """A convolution with float32 weights and images in float32 or bfloat16."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor, filters: Tensor, stride: int, rounding: str) -> Tensor:
        """filters: [O, k, k, C], the weight as the kernels take it; its gradient goes to weight"""
        y: Tensor = convolve(x, filters, stride, rounding)
        return y

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        x, _, filters, ctx.stride, ctx.rounding = inputs
        ctx.save_for_backward(x, filters)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        x, filters = ctx.saved_tensors
        to_x, to_weight = ConvolutionGradient.apply(  # type: ignore[no-untyped-call]
            x, filters, slope, ctx.stride, ctx.rounding, ctx.needs_input_grad[0]
        )
        weight = to_weight.sum(0).permute(0, 3, 1, 2)
        return (to_x if ctx.needs_input_grad[0] else None), weight, None, None, None


class ConvolutionGradient(torch.autograd.Function):
    """Gradients of `Convolution`, without second derivatives."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, filters: Tensor, slope: Tensor, stride: int, rounding: str, wanted: bool
    ) -> tuple[Tensor, Tensor]:
        """The image gradient, if wanted, and the weight gradient as parts to sum."""
        slope = slope.contiguous()
        to_weight = weight_gradient(x, slope, filters.shape[1], stride, rounding)
        if not wanted:
            return torch.zeros_like(x[:0]), to_weight
        return image_gradient(slope, filters, stride, *x.shape[1:3], rounding), to_weight

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(*output)


def convolution(x: Tensor, weight: Tensor, stride: int, precision: Precision) -> Tensor:
    """x: [N, H, W, C], weight: [O, C, k, k] -> [N, H', W', O]"""
    filters = weight.detach().permute(0, 2, 3, 1).to(x.dtype).contiguous()
    y: Tensor = Convolution.apply(  # type: ignore[no-untyped-call]
        x.contiguous(), weight, filters, stride, ROUNDING[precision]
    )
    return y


def to_planes(x: Tensor) -> Tensor:
    """[S, N, H, W, C] in PyTorch's order: [S, N, C, H, W]"""
    return x.movedim(-1, 2)

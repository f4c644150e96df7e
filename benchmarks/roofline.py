"""Roofline: counted work and memory traffic of a step, and measured limits of the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from bison_ocl.nets.resnet import ResNet18


@dataclass(frozen=True)
class Layer:
    """A convolution of a forward pass: channels, side of the filter and of both images."""

    inputs: int
    outputs: int
    side: int
    before: int
    after: int


def layers(backbone: ResNet18) -> Iterator[Layer]:
    """The convolutions of a square image, in order."""
    size = backbone.shape[1]
    yield Layer(backbone.shape[0], backbone.filters, 3, size, size)
    for block in backbone.blocks:
        after = -(-size // block.stride)
        yield Layer(block.inputs, block.outputs, 3, size, after)
        yield Layer(block.outputs, block.outputs, 3, after, after)
        if block.reshapes:
            yield Layer(block.inputs, block.outputs, 1, size, after)
        size = after


def flop(backbone: ResNet18, images: int) -> float:
    """Of the convolutions, forwards and in both gradients; the stem's images need none."""
    total = 0.0
    for i, layer in enumerate(layers(backbone)):
        products = layer.after**2 * layer.outputs * layer.inputs * layer.side**2
        total += 2 * products * images * (2 if i == 0 else 3)
    return total


def traffic(backbone: ResNet18, images: int, width: int) -> float:
    """Bytes, if every layer reads and writes each of its images once in each pass over them.

    Forwards: convolve (read, write), sum (read), normalise (read, write). Backwards: sum (read
    two), gradient (read two, write), to the images (read, write), to the weight (read two).
    """
    total = 0.0
    for layer in layers(backbone):
        before = layer.before**2 * layer.inputs * images
        after = layer.after**2 * layer.outputs * images
        total += width * (3 * before + (1 + 1 + 2 + 2 + 3 + 2) * after)
    return total


def milliseconds(work: Callable[[], object], times: int) -> float:
    """Of one call, on the GPU's own clock."""
    for _ in range(3):
        work()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(times):
        work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / times


def ceilings() -> dict[str, float]:
    """Measured here: bfloat16 matrix products in TFLOP/s, and copies in TB/s read and written."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product = milliseconds(lambda: a @ b, 10)
    large = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(large)
    copy = milliseconds(lambda: target.copy_(large), 10)
    return {"TFLOP_s": 2 * 8192**3 / product / 1e9, "TB_s": 2 * large.nbytes / copy / 1e9}


def roofline(backbone: ResNet18, images: int, ms: float, width: int) -> dict[str, float]:
    """The least time by either ceiling, and the share of it that a step of `ms` reaches."""
    found = ceilings()
    work, moved = flop(backbone, images), traffic(backbone, images, width)
    least = max(work / found["TFLOP_s"] / 1e9, moved / found["TB_s"] / 1e9)
    return found | {
        "GFLOP": work / 1e9,
        "GB": moved / 1e9,
        "compute_ms": work / found["TFLOP_s"] / 1e9,
        "memory_ms": moved / found["TB_s"] / 1e9,
        "step_ms": ms,
        "share_of_roofline": least / ms,
    }

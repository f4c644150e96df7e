"""The convolution kernels against conv2d in float64, for runs side by side."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bison_ocl.nets.kernels.tiles import FULL, tile
from tests.nets.kernels import Kernels
from tests.nets.plain import convolved, numbers, slopes

CASES = {
    "one run, a stem": (1, 2, 8, 8, 3, 20, 3, 1),
    "odd sizes": (2, 3, 7, 5, 4, 5, 3, 1),
    "halved": (2, 2, 8, 6, 20, 40, 3, 2),
    "odd sizes, halved": (2, 2, 9, 7, 5, 10, 3, 2),
    "one pixel left": (3, 2, 2, 1, 8, 16, 3, 2),
    "pointwise": (3, 1, 7, 7, 20, 20, 1, 1),
    "pointwise, halved": (2, 2, 9, 8, 20, 40, 1, 2),
    "several chunks and columns": (1, 1, 4, 4, 40, 70, 3, 1),
    "several chunks and columns, halved": (1, 1, 5, 4, 40, 70, 3, 2),
}
"""runs, images, height, width, channels in and out, side of the filters, stride"""

MANY = {"many runs": (FULL, 1, 3, 3, 2, 3, 1, 1), "many runs, halved": (50, 1, 5, 5, 3, 4, 3, 2)}
"""as many runs as fill a GPU, or their gradients: the largest tiles"""

Case = tuple[int, int, int, int, int, int, int, int]
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
large_too = pytest.mark.parametrize("case", [*CASES.values(), *MANY.values()], ids=[*CASES, *MANY])


def runs_of(case: Case, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Images, filters, and slopes at the outputs."""
    runs, n, height, width, inputs, outputs, side, stride = case
    out = (-(-height // stride), -(-width // stride))
    return (
        numbers(runs, n, height, width, inputs, seed=1, dtype=dtype),
        numbers(runs, outputs, side, side, inputs, seed=2, dtype=dtype),
        numbers(runs, n, *out, outputs, seed=3, dtype=dtype),
    )


def wanted(case: Case, *values: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Outputs and gradients in images and filters, run by run."""
    found = []
    for x, weight, slope in zip(*(value.double() for value in values), strict=True):
        inputs = (x.requires_grad_(), weight.requires_grad_())
        y = convolved(*inputs, stride=case[-1])
        found.append((y.detach(), *slopes(y, slope, *inputs)))
    return [torch.stack(column) for column in zip(*found, strict=True)]


def close(found: Tensor, expected: Tensor, part: float = 1e-5) -> bool:
    """To a part of the largest number."""
    assert found.shape == expected.shape
    return bool((found - expected).abs().max() <= part * expected.abs().max())


def test_many_runs_have_the_largest_tiles() -> None:
    runs, _, height, width, *_, outputs, _, _ = MANY["many runs"]
    assert tile(height * width, outputs, runs)[0] == 128
    assert tile(9, 3, 4 * MANY["many runs, halved"][0])[0] == 128


def to_images(
    kernels: Kernels, case: Case, x: Tensor, weight: Tensor, slope: Tensor, rounding: str = "ieee"
) -> Tensor:
    """The gradient in images."""
    size, stride = x.shape[2:4], case[-1]
    found: Tensor = kernels(
        "convolution_kernels.image_gradient", slope, weight, stride, *size, rounding
    )
    return found


@large_too
def test_outputs(kernels: Kernels, case: Case) -> None:
    x, weight, slope = runs_of(case)
    y, _, _ = wanted(case, x, weight, slope)
    found = kernels("convolution_kernels.convolve", x, weight, case[-1], "ieee")
    assert found.dtype == torch.float32
    assert close(found, y)


@large_too
def test_gradient_in_images(kernels: Kernels, case: Case) -> None:
    x, weight, slope = runs_of(case)
    _, to_x, _ = wanted(case, x, weight, slope)
    found = to_images(kernels, case, x, weight, slope)
    assert found.dtype == torch.float32
    assert close(found, to_x)


def test_no_other_strides_have_a_gradient(kernels: Kernels) -> None:
    x, weight, slope = runs_of((1, 1, 7, 7, 2, 3, 3, 3))
    with pytest.raises(ValueError, match="stride 3: expected 1 or 2"):
        to_images(kernels, (1, 1, 7, 7, 2, 3, 3, 3), x, weight, slope)


@each_case
def test_gradient_in_filters(kernels: Kernels, case: Case) -> None:
    x, weight, slope = runs_of(case)
    _, _, to_weight = wanted(case, x, weight, slope)
    found = kernels("convolution_kernels.weight_gradient", x, slope, case[-2], case[-1], 1, "ieee")
    assert found.shape[1] == 1
    assert close(found.sum(1), to_weight)


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_gradient_in_filters_is_a_sum_of_parts(kernels: Kernels, parts: int) -> None:
    case = (2, 3, 18, 9, 3, 5, 3, 2)
    x, weight, slope = runs_of(case)
    pixels = slope[0, ..., 0].numel()
    assert 2 * 64 < pixels < 3 * 64
    _, _, to_weight = wanted(case, x, weight, slope)
    found = kernels("convolution_kernels.weight_gradient", x, slope, 3, 2, parts, "ieee")
    assert found.shape == (2, parts, 5, 3, 3, 3)
    assert close(found.sum(1), to_weight)
    assert not close(found[:, 0], to_weight)


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="the interpreter has no bfloat16 products"
)
def test_images_in_bfloat16_are_summed_in_float32(kernels: Kernels) -> None:
    case = CASES["odd sizes, halved"]
    x, weight, slope = runs_of(case, torch.bfloat16)
    y, to_x, to_weight = wanted(case, x, weight, slope)
    found = kernels("convolution_kernels.convolve", x, weight, 2, "tf32")
    assert found.dtype == torch.bfloat16
    assert close(found, y, 2**-8)
    found = to_images(kernels, case, x, weight, slope, "tf32")
    assert found.dtype == torch.bfloat16
    assert close(found, to_x, 2**-8)
    parts = kernels("convolution_kernels.weight_gradient", x, slope, 3, 2, 1, "tf32")
    assert parts.dtype == torch.float32
    assert close(parts.sum(1), to_weight)


def test_a_run_does_not_see_the_others(kernels: Kernels) -> None:
    x, weight, slope = runs_of(CASES["halved"])

    def results(x: Tensor, weight: Tensor, slope: Tensor) -> list[Tensor]:
        return [
            kernels("convolution_kernels.convolve", x, weight, 2, "ieee"),
            to_images(kernels, CASES["halved"], x, weight, slope),
            kernels("convolution_kernels.weight_gradient", x, slope, 3, 2, 1, "ieee"),
        ]

    together, alone = results(x, weight, slope), results(x[1:], weight[1:], slope[1:])
    assert all(torch.equal(a[1:], b) for a, b in zip(together, alone, strict=True))

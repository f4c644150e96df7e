"""The kernels that walk down rows: against conv2d in float64, and chosen for tall images."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from bison_ocl.nets.kernels.convolution import parts, weight_gradient
from bison_ocl.nets.kernels.tiles import TALL, gradient_walk
from tests.nets.kernels import Kernels
from tests.nets.plain import convolved, numbers, slopes

CASES = {
    "one image, one channel": (1, 1, 1, 1, 1, 1),
    "a stem": (2, 2, 13, 40, 3, 20),
    "several strips": (1, 3, 7, 50, 5, 6),
    "several walks, the last one short": (2, 1, 10, 5, 20, 20),
    "as many channels as fit": (1, 2, 6, 9, 21, 21),
}
"""runs, images, height, width, channels in and out"""

Case = tuple[int, int, int, int, int, int]
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def values_of(case: Case, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """Images, filters, and slopes at the outputs."""
    runs, n, height, width, inputs, outputs = case
    return (
        numbers(runs, n, height, width, inputs, seed=1, dtype=dtype),
        numbers(runs, outputs, 3, 3, inputs, seed=2, dtype=dtype),
        numbers(runs, n, height, width, outputs, seed=3, dtype=dtype),
    )


def wanted(*values: Tensor) -> list[Tensor]:
    """Outputs and gradients in images and filters, run by run, by conv2d and autograd."""
    found = []
    for x, weight, slope in zip(*(value.double() for value in values), strict=True):
        inputs = (x.requires_grad_(), weight.requires_grad_())
        y = convolved(*inputs, stride=1)
        found.append((y.detach(), *slopes(y, slope, *inputs)))
    return [torch.stack(column) for column in zip(*found, strict=True)]


def close(found: Tensor, expected: Tensor, part: float = 1e-5) -> bool:
    """To a part of the largest number."""
    assert found.shape == expected.shape
    return bool((found - expected).abs().max() <= part * expected.abs().max())


@each_case
def test_outputs_and_gradients(kernels: Kernels, case: Case) -> None:
    x, weight, slope = values_of(case)
    y, to_x, to_weight = wanted(x, weight, slope)
    assert close(kernels("row_kernels.convolve", x, weight, "ieee", False), y)
    assert close(kernels("row_kernels.convolve", slope, weight, "ieee", True), to_x)
    parts = kernels("row_kernels.weight_gradient", x, slope, "ieee")
    strips, walks = gradient_walk(case[2]).grid(case[1], case[2], case[3])
    assert parts.shape[1] == strips * walks
    assert close(parts.sum(1), to_weight)


def test_a_run_does_not_see_the_others(kernels: Kernels) -> None:
    x, _, slope = values_of(CASES["a stem"])
    together = kernels("row_kernels.weight_gradient", x, slope, "ieee")
    alone = kernels("row_kernels.weight_gradient", x[1:], slope[1:], "ieee")
    assert torch.equal(together[1:], alone)


def test_tall_images_go_by_rows(kernels: Kernels) -> None:
    """The number of parts tells which kernel summed them: the others were asked for one."""
    case = (1, 1, TALL, 3, 2, 2)
    x, weight, slope = values_of(case)
    y, to_x, to_weight = wanted(x, weight, slope)
    assert close(kernels("convolution_kernels.convolve", x, weight, 1, "ieee"), y)
    found = kernels("convolution_kernels.image_gradient", slope, weight, 1, TALL, 3, "ieee")
    assert close(found, to_x)
    parts = kernels("convolution_kernels.weight_gradient", x, slope, 3, 1, 1, "ieee")
    assert parts.shape[1] == 3
    assert close(parts.sum(1), to_weight)


@pytest.mark.parametrize("height", [TALL - 1, TALL, TALL + 1])
def test_the_fake_result_has_as_many_parts_as_the_kernels_sum(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch, height: int
) -> None:
    """A step is traced with fake results: with other parts, it would add what is not there."""
    monkeypatch.setattr("bison_ocl.nets.kernels.convolution.takes_kernels", lambda x: True)
    x, _, slope = values_of((1, 5, height, 15, 2, 2))
    with FakeTensorMode() as mode:
        fake = weight_gradient(mode.from_tensor(x), mode.from_tensor(slope), 3, 1, "ieee")
    count = parts(x, slope, 3, 1)
    real = kernels("convolution_kernels.weight_gradient", x, slope, 3, 1, count, "ieee")
    assert fake.shape == real.shape
    assert fake.shape[1] == count > 1


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="the interpreter has no bfloat16 products"
)
def test_bfloat16_has_the_bits_of_the_general_kernels(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, weight, slope = values_of((3, 4, 84, 84, 20, 20), torch.bfloat16)

    def outputs() -> list[Tensor]:
        return [
            kernels("convolution_kernels.convolve", x, weight, 1, "tf32"),
            kernels("convolution_kernels.image_gradient", slope, weight, 1, 84, 84, "tf32"),
        ]

    by_rows = outputs()
    monkeypatch.setattr("bison_ocl.nets.kernels.tiles.TALL", 85)
    assert all(torch.equal(a, b) for a, b in zip(by_rows, outputs(), strict=True))
    _, _, to_weight = wanted(x, weight, slope)
    assert close(kernels("row_kernels.weight_gradient", x, slope, "tf32").sum(1), to_weight)

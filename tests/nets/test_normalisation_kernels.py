"""The normalisation kernels against the formula and its autograd in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bison_ocl.nets.norm import EPSILON
from tests.nets.kernels import Kernels
from tests.nets.plain import moments, normalised, numbers, slopes

SHAPES = {
    "one run": (1, 1, 3, 4, 5, 20),
    "two parts": (2, 2, 3, 5, 3, 20),
    "several programs a slab": (1, 2, 3, 13, 10, 4),
    "several columns": (2, 1, 2, 3, 3, 70),
    "one pixel an image": (3, 2, 6, 1, 1, 5),
    "several turns of a loop": (1, 1, 5, 31, 29, 3),
}
"""runs, parts, images of a part, height, width, channels"""

Shape = tuple[int, int, int, int, int, int]
each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
with_relu = pytest.mark.parametrize("relu", [True, False], ids=["relu", "no relu"])
with_residual = pytest.mark.parametrize("add", [True, False], ids=["residual", "no residual"])


def runs_of(
    shape: Shape, add: bool, dtype: torch.dtype = torch.float32
) -> dict[str, Tensor | None]:
    """Images, scales, shifts, perhaps a residual, and slopes at the outputs."""
    runs, parts, n, *image = shape
    size = (runs, parts * n, *image)
    return {
        "x": (2 * numbers(*size, seed=1, dtype=torch.float32) + 1).to(dtype),
        "scale": numbers(runs, image[-1], seed=2, dtype=torch.float32),
        "shift": numbers(runs, image[-1], seed=3, dtype=torch.float32),
        "residual": numbers(*size, seed=4, dtype=dtype) if add else None,
        "slope": numbers(*size, seed=5, dtype=dtype),
    }


def wanted(shape: Shape, values: dict[str, Tensor | None], relu: bool) -> dict[str, Tensor]:
    """What comes out and its gradients, run by run."""
    found = []
    for run in range(shape[0]):
        own = {
            name: value[run].double().requires_grad_()
            for name, value in values.items()
            if value is not None
        }
        slope = own.pop("slope")
        y = normalised(**{"residual": None} | own, relu=relu, parts=shape[1])
        means, variances = moments(own["x"], shape[1])
        grads = dict(zip(own, slopes(y, slope, *own.values()), strict=True))
        found.append({"y": y, "means": means, "variances": variances} | grads)
    return {name: torch.stack([run[name] for run in found]).detach() for name in found[0]}


def assert_close(found: Tensor, expected: Tensor, part: float = 2e-5) -> None:
    """To a part of the largest number, or of one."""
    assert found.shape == expected.shape
    assert (found - expected).abs().max() <= part * max(1.0, float(expected.abs().max()))


def forward(kernels: Kernels, v: dict[str, Tensor | None], relu: bool, parts: int) -> list[Tensor]:
    inputs = (v["x"], v["scale"], v["shift"], v["residual"], relu, parts, EPSILON)
    found: list[Tensor] = kernels("normalisation_kernels.normalise", *inputs)
    return found


@with_residual
@with_relu
@each_shape
def test_outputs_and_moments(kernels: Kernels, shape: Shape, relu: bool, add: bool) -> None:
    values = runs_of(shape, add)
    expected = wanted(shape, values, relu)
    y, means, variances = forward(kernels, values, relu, shape[1])
    assert_close(y, expected["y"])
    assert_close(means, expected["means"])
    assert_close(variances, expected["variances"])


@with_residual
@with_relu
@each_shape
def test_gradients(kernels: Kernels, shape: Shape, relu: bool, add: bool) -> None:
    values = runs_of(shape, add)
    expected = wanted(shape, values, relu)
    outputs = forward(kernels, values, relu, shape[1])
    inputs = (values["slope"], values["x"], *outputs, values["scale"], values["shift"])
    to_x, to_residual, sums = kernels(
        "normalisation_kernels.normalise_back", *inputs, relu, add, EPSILON
    )
    to_shift, to_scale = sums.sum((1, 3)).unbind(1)
    assert_close(to_x, expected["x"], 1e-4)
    assert_close(to_scale, expected["scale"])
    assert_close(to_shift, expected["shift"])
    if add:
        assert_close(to_residual, expected["residual"])
    else:
        assert to_residual is None


def test_images_in_bfloat16_are_normalised_in_float32(kernels: Kernels) -> None:
    shape = SHAPES["two parts"]
    values = runs_of(shape, True, torch.bfloat16)
    expected = wanted(shape, values, True)
    y, means, variances = forward(kernels, values, True, shape[1])
    assert (y.dtype, means.dtype, variances.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    assert_close(y, expected["y"], 2**-7)  # the interpreter cuts off where a GPU rounds
    assert_close(means, expected["means"])
    assert_close(variances, expected["variances"])


def test_a_part_and_a_run_do_not_see_the_others(kernels: Kernels) -> None:
    shape = SHAPES["two parts"]
    values = runs_of(shape, True)
    together, _, _ = forward(kernels, values, True, 2)
    alone = {name: value[1:] for name, value in values.items() if value is not None}
    last = {name: v[:, 3:] if v.ndim == 5 else v for name, v in alone.items()}
    assert torch.equal(forward(kernels, last, True, 1)[0], together[1:, 3:])


@pytest.mark.parametrize("far", [10.0, 100.0])
def test_means_far_from_zero_cost_little(kernels: Kernels, far: float) -> None:
    """The variance is E x² − μ², in float32: right to some (μ/σ)² roundings."""
    shape = SHAPES["several programs a slab"]
    values = runs_of(shape, False)
    values["x"] = values["x"] + far
    expected = wanted(shape, values, False)
    _, _, variances = forward(kernels, values, False, 2)
    worst = ((variances - expected["variances"]) / expected["variances"]).abs().max()
    assert worst < 2**-20 * (1 + far**2 / 4)


def test_a_constant_channel_becomes_its_shift(kernels: Kernels) -> None:
    shape = SHAPES["one run"]
    values = runs_of(shape, False)
    values["x"] = torch.full_like(values["x"], 0.1)
    y, _, variances = forward(kernels, values, False, 1)
    assert (variances >= 0).all()
    assert_close(y, values["shift"][:, None, None, None].expand_as(y), 1e-3)

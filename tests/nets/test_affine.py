"""Scale, shift, addition and ReLU: against the formula, alone and under vmap; the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from bison_ocl import tree
from bison_ocl.nets.kernels.affine import affine, affine_back, affine_forward
from tests.nets.kernels import Kernels
from tests.nets.plain import numbers, slopes

SIZE = (4, 3, 5, 6)
SHAPES = {
    "one run": (1, 3, 4, 5, 20),
    "several runs and columns": (3, 2, 3, 3, 70),
    "several parts": (2, 5, 31, 29, 3),
    "one pixel": (2, 1, 1, 1, 5),
}
"""runs, images, height, width, channels"""
Values = dict[str, Tensor]

with_relu = pytest.mark.parametrize("relu", [True, False], ids=["relu", "no relu"])
with_residual = pytest.mark.parametrize("add", [True, False], ids=["residual", "no residual"])


def values_of(add: bool, *runs: int, size: tuple[int, ...] = SIZE) -> Values:
    """x, scale, shift, perhaps a residual, and the slope at the outputs."""
    found = {
        "x": numbers(*runs, *size, seed=1),
        "scale": numbers(*runs, size[-1], seed=2),
        "shift": numbers(*runs, size[-1], seed=3),
    }
    residual = {"residual": numbers(*runs, *size, seed=4)} if add else {}
    return found | residual | {"slope": numbers(*runs, *size, seed=5)}


def plain(inputs: Values, relu: bool) -> Tensor:
    y = inputs["x"] * inputs["scale"] + inputs["shift"] + inputs.get("residual", 0)
    return y.relu() if relu else y


def drawn(inputs: Values, relu: bool) -> Tensor:
    return affine(inputs["x"], inputs["scale"], inputs["shift"], inputs.get("residual"), relu)


def all_of(draw: Callable[[Values, bool], Tensor], relu: bool) -> Callable[[Values], Values]:
    """Outputs and gradients, by torch.func: vmap can see through it."""

    def found(values: Values) -> Values:
        inputs = {name: value for name, value in values.items() if name != "slope"}

        def total(inputs: Values) -> tuple[Tensor, Tensor]:
            y = draw(inputs, relu)
            return (y * values["slope"]).sum(), y

        grads, y = torch.func.grad(total, has_aux=True)(inputs)
        return {**grads, "y": y}

    return found


@with_residual
@with_relu
def test_outputs_and_gradients_equal_the_formula(add: bool, relu: bool) -> None:
    values = values_of(add)
    wanted = all_of(plain, relu)(values)
    torch.testing.assert_close(all_of(drawn, relu)(values), wanted)
    inputs = {name: v.requires_grad_() for name, v in values.items() if name != "slope"}
    grads = slopes(drawn(inputs, relu), values["slope"], *inputs.values())
    for name, grad in zip(inputs, grads, strict=True):
        torch.testing.assert_close(grad, wanted[name])


@with_residual
@with_relu
def test_two_levels_of_vmap_equal_a_loop(add: bool, relu: bool) -> None:
    """Runs with scales and shifts of their own, images that share them."""
    values = values_of(add, 2, 3)
    values |= {name: values[name][:, 0] for name in ("scale", "shift")}
    dims = ({name: None if name in ("scale", "shift") else 0 for name in values},)
    together = torch.func.vmap(torch.func.vmap(all_of(drawn, relu), in_dims=dims))(values)
    for run in range(2):
        for image in range(3):
            own = {n: v[run] if dims[0][n] is None else v[run, image] for n, v in values.items()}
            found = {name: value[run, image] for name, value in together.items()}
            torch.testing.assert_close(found, all_of(plain, relu)(own))


def test_images_in_bfloat16_are_computed_in_float32() -> None:
    """The sum is rounded once, not after each of its terms."""
    x, residual = torch.full((1, 1, 1, 1), 1.0), torch.full((1, 1, 1, 1), 256.0)
    one = torch.ones(1)
    y = affine(x.bfloat16(), one, one, residual.bfloat16(), True)
    assert y.dtype == torch.bfloat16
    assert y.item() == 258.0
    grads = torch.autograd.grad(
        affine(x.bfloat16().requires_grad_(), one, one.requires_grad_(), None, False).sum(), one
    )
    assert grads[0].dtype == torch.float32


@with_residual
def test_fake_results_have_the_shapes_of_the_real_ones(add: bool) -> None:
    v = values_of(add, 2)
    forward: tuple[Any, ...] = (v["x"], v["scale"], v["shift"], v.get("residual"), True)
    real = [affine_forward(*forward)]
    backward = (v["slope"], v["x"], real[0], v["scale"], True, add)
    real += affine_back(*backward)
    with FakeTensorMode() as mode:
        fake = [
            affine_forward(*tree.map_leaves(mode.from_tensor, forward)),
            *affine_back(*tree.map_leaves(mode.from_tensor, backward)),
        ]
    assert [(f.shape, f.dtype) for f in fake] == [(r.shape, r.dtype) for r in real]


@with_residual
@with_relu
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_kernels(
    kernels: Kernels, shape: tuple[int, int, int, int, int], relu: bool, add: bool
) -> None:
    runs, *size = shape
    values = {n: v.float() for n, v in values_of(add, runs, size=tuple(size)).items()}
    wanted = torch.func.vmap(all_of(plain, relu))(tree.map_leaves(torch.Tensor.double, values))
    v = {"residual": None} | values
    y = kernels("affine_kernels.affine", v["x"], v["scale"], v["shift"], v["residual"], relu)
    to_x, to_residual, sums = kernels(
        "affine_kernels.affine_back", v["slope"], v["x"], y, v["scale"], relu, add
    )
    to_scale, to_shift = sums.sum(2).unbind(1)
    found = {"x": to_x, "scale": to_scale, "shift": to_shift, "y": y}
    assert (to_residual is not None) == add
    found |= {"residual": to_residual} if add else {}
    for name, value in found.items():
        torch.testing.assert_close(value.double(), wanted[name], rtol=1e-4, atol=1e-4)

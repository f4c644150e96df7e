"""Scale, shift, addition and ReLU: against the formula, alone and under vmap; the kernels."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from bison_ocl import tree
from bison_ocl.nets.kernels.affine import affine, affine_back, affine_forward
from bison_ocl.nets.kernels.over_runs import total_type
from tests.nets.kernels import Kernels
from tests.nets.operators import Call, check_fake_results, check_well_formed
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


def test_the_gradient_has_no_gradient() -> None:
    """Nobody needs it; asking for it is an error, not a wrong number."""
    values = values_of(False)
    scale = values["scale"].requires_grad_()
    (first,) = torch.autograd.grad(drawn(values, True).square().sum(), scale, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(first.sum(), scale)


def calls(dtype: torch.dtype) -> dict[str, Call]:
    """Operators with arguments, for one run and for runs of runs, all kinds of layers."""
    found: dict[str, Call] = {}
    for name, runs in (("one run", ()), ("runs of runs", (2, 3))):
        for add in (True, False):
            v = {n: value.to(dtype) for n, value in values_of(add, *runs).items()}
            scale, shift = (v[n].to(total_type(v["x"])) for n in ("scale", "shift"))
            inputs = (v["x"], scale, shift, v.get("residual"), add)
            kind = f"{name}, {'residual and relu' if add else 'neither'}"
            found[f"forward, {kind}"] = (affine_forward, inputs)
            back = (v["slope"], v["x"], affine_forward(*inputs), scale, add, add)
            found[f"back, {kind}"] = (affine_back, back)
    return found


each_call = pytest.mark.parametrize("call", calls(torch.float64))


@each_call
def test_operators_are_well_formed(call: str) -> None:
    check_well_formed(calls(torch.float64)[call])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@each_call
def test_fake_results_have_the_form_of_real_ones(call: str, dtype: torch.dtype) -> None:
    check_fake_results(calls(dtype)[call])


def test_the_fake_result_has_as_many_parts_as_the_kernel_sums(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step is traced with fake results: with other parts, it would add what is not there."""
    monkeypatch.setattr("bison_ocl.nets.kernels.affine.takes_kernels", lambda x: True)
    v = {n: value.float() for n, value in values_of(True, 2, size=(5, 31, 29, 3)).items()}
    arguments = (v["slope"], v["x"], v["x"], v["scale"], True, True)
    with FakeTensorMode() as mode:
        fake = affine_back(*tree.map_leaves(mode.from_tensor, arguments))[2]
    real = kernels("affine_kernels.affine_back", *arguments)[2]
    assert fake.shape == real.shape
    assert fake.shape[2] > 1


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

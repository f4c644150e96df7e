"""The normalisation's operators: against the formula, alone and under vmap, real and fake."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from bison_ocl import tree
from bison_ocl.nets.kernels.normalisation import normalisation, normalise, normalise_back
from tests.nets.operators import Call, check_fake_results, check_well_formed
from tests.nets.plain import moments, normalised, numbers, slopes

SIZE = (4, 3, 5, 6)
Values = dict[str, Tensor]

each_kind = [
    pytest.mark.parametrize("parts", [1, 2]),
    pytest.mark.parametrize("relu", [True, False], ids=["relu", "no relu"]),
    pytest.mark.parametrize("add", [True, False], ids=["residual", "no residual"]),
]


def every_kind(test: Callable[..., None]) -> Callable[..., None]:
    for mark in each_kind:
        test = mark(test)
    return test


def values_of(add: bool, *runs: int) -> Values:
    """x, scale, shift, perhaps a residual, and slopes at the outputs."""
    found = {
        "x": 2 * numbers(*runs, *SIZE, seed=1) + 1,
        "scale": numbers(*runs, SIZE[-1], seed=2),
        "shift": numbers(*runs, SIZE[-1], seed=3),
    }
    residual = {"residual": numbers(*runs, *SIZE, seed=4)} if add else {}
    return found | residual | {"slope": numbers(*runs, *SIZE, seed=5)}


def outputs(values: Values, relu: bool, parts: int) -> tuple[Tensor, Tensor, Tensor]:
    x, scale, shift = values["x"], values["scale"], values["shift"]
    return normalisation(x, scale, shift, values.get("residual"), relu, parts)


def all_of(relu: bool, parts: int) -> Callable[[Values], Values]:
    """Outputs, moments and gradients, by torch.func: vmap can see through it."""

    def found(values: Values) -> Values:
        inputs = {name: value for name, value in values.items() if name != "slope"}

        def total(inputs: Values) -> tuple[Tensor, tuple[Tensor, ...]]:
            y, means, variances = outputs(inputs, relu, parts)
            return (y * values["slope"]).sum(), (y, means, variances)

        grads, (y, means, variances) = torch.func.grad(total, has_aux=True)(inputs)
        return grads | {"y": y, "means": means, "variances": variances}

    return found


def expected(values: Values, relu: bool, parts: int) -> Values:
    """The same by the formula and autograd."""
    inputs = {name: v.detach().requires_grad_() for name, v in values.items() if name != "slope"}
    y = normalised(**{"residual": None} | inputs, relu=relu, parts=parts)
    grads = dict(zip(inputs, slopes(y, values["slope"], *inputs.values()), strict=True))
    means, variances = moments(values["x"], parts)
    return grads | {"y": y.detach(), "means": means, "variances": variances}


@every_kind
def test_outputs_and_gradients_equal_the_formula(add: bool, relu: bool, parts: int) -> None:
    values = values_of(add)
    wanted = expected(values, relu, parts)
    torch.testing.assert_close(all_of(relu, parts)(values), wanted)
    inputs = {name: v.requires_grad_() for name, v in values.items() if name != "slope"}
    y, _, _ = outputs(inputs, relu, parts)
    grads = dict(zip(inputs, slopes(y, values["slope"], *inputs.values()), strict=True))
    torch.testing.assert_close(grads, {name: wanted[name] for name in grads})


@every_kind
def test_runs_under_vmap_equal_a_loop(add: bool, relu: bool, parts: int) -> None:
    values = values_of(add, 3)
    together = torch.func.vmap(all_of(relu, parts))(values)
    for run in range(3):
        alone = expected(tree.pick(values, run), relu, parts)
        torch.testing.assert_close(tree.pick(together, run), alone)


def test_two_levels_of_vmap_equal_a_loop() -> None:
    """Runs with scales of their own, batches that share them."""
    values = values_of(True, 2, 3)
    values |= {name: values[name][:, 0] for name in ("scale", "shift")}
    dims = ({name: None if name in ("scale", "shift") else 0 for name in values},)
    together = torch.func.vmap(torch.func.vmap(all_of(True, 2), in_dims=dims))(values)
    for run in range(2):
        for batch in range(3):
            own = {n: v[run] if dims[0][n] is None else v[run, batch] for n, v in values.items()}
            found = {name: value[run, batch] for name, value in together.items()}
            torch.testing.assert_close(found, expected(own, True, 2))


def test_moments_have_no_gradient() -> None:
    values = {name: value.requires_grad_() for name, value in values_of(False).items()}
    y, means, variances = outputs(values, True, 1)
    assert y.requires_grad
    assert not means.requires_grad
    assert not variances.requires_grad


def test_the_gradient_has_no_gradient() -> None:
    """Nobody needs it; asking for it is an error, not a wrong number."""
    values = values_of(False)
    scale = values["scale"].requires_grad_()
    y, _, _ = outputs(values, True, 1)
    (first,) = torch.autograd.grad(y.square().sum(), scale, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(first.sum(), scale)


def test_images_in_bfloat16_are_normalised_in_float32() -> None:
    values = {name: value.float() for name, value in values_of(True).items()}
    narrow = {n: v if n in ("scale", "shift") else v.bfloat16() for n, v in values.items()}
    inputs = {name: v.requires_grad_() for name, v in narrow.items() if name != "slope"}
    y, means, variances = outputs(inputs, True, 2)
    assert (y.dtype, means.dtype, variances.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    grads = dict(zip(inputs, slopes(y, narrow["slope"], *inputs.values()), strict=True))
    assert {name: grad.dtype for name, grad in grads.items()} == {
        name: value.dtype for name, value in inputs.items()
    }
    wide = {name: value.detach().double() for name, value in narrow.items()}
    wanted = expected(wide, True, 2)
    torch.testing.assert_close(means.double(), wanted["means"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(variances.double(), wanted["variances"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(y.double(), wanted["y"], rtol=2**-8, atol=2**-8)
    for name, grad in grads.items():
        assert (grad - wanted[name]).norm() < 0.02 * wanted[name].norm(), name


def calls(dtype: torch.dtype) -> dict[str, Call]:
    """Operators with arguments, for one run and for runs of runs, all kinds of layers."""
    found: dict[str, Call] = {}
    totals = torch.promote_types(dtype, torch.float32)
    for name, runs in (("one run", ()), ("runs of runs", (2, 3))):
        for add in (True, False):
            values = {
                name: value.to(totals if name in ("scale", "shift") else dtype)
                for name, value in values_of(add, *runs).items()
            }
            x, scale, shift = values["x"], values["scale"], values["shift"]
            inputs = (x, scale, shift, values.get("residual"), True, 2)
            kind = f"{name}, {'a' if add else 'no'} residual"
            found[f"forward, {kind}"] = (normalise, inputs)
            back = (values["slope"], x, *normalise(*inputs), scale, shift, True, add)
            found[f"back, {kind}"] = (normalise_back, back)
    return found


each_call = pytest.mark.parametrize("call", calls(torch.float64))


@each_call
def test_operators_are_well_formed(call: str) -> None:
    check_well_formed(calls(torch.float64)[call])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@each_call
def test_fake_results_have_the_form_of_real_ones(call: str, dtype: torch.dtype) -> None:
    check_fake_results(calls(dtype)[call])

"""The convolution's operators: against conv2d, alone and under vmap, real and fake."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from bison_ocl.nets.kernels.convolution import (
    convolution,
    convolve,
    image_gradient,
    weight_gradient,
)
from tests.nets.operators import Call, check_fake_results, check_well_formed
from tests.nets.plain import convolved, numbers, slopes

CASES = {
    "same size": (2, 6, 5, 3, 4, 3, 1),
    "halved": (2, 8, 6, 4, 5, 3, 2),
    "odd sizes, halved": (3, 7, 5, 2, 3, 3, 2),
    "pointwise": (2, 4, 3, 3, 5, 1, 1),
    "pointwise, odd sizes, halved": (2, 5, 7, 3, 4, 1, 2),
}
"""images, height, width, channels in and out, side of the filters, stride"""

Case = tuple[int, int, int, int, int, int, int]
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def sizes(case: Case) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Shapes of images, of a weight as a network keeps it, and of outputs."""
    n, height, width, inputs, outputs, side, stride = case
    out = (n, -(-height // stride), -(-width // stride), outputs)
    return (n, height, width, inputs), (outputs, inputs, side, side), out


def layer(x: Tensor, weight: Tensor, slope: Tensor, stride: int) -> tuple[Tensor, ...]:
    """Outputs and both gradients of our convolution."""
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    y = convolution(x, weight, stride, "fp32")
    return y.detach(), *slopes(y, slope, x, weight)


def expected(x: Tensor, weight: Tensor, slope: Tensor, stride: int) -> tuple[Tensor, ...]:
    """The same by conv2d."""
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    y = convolved(x, weight.permute(0, 2, 3, 1), stride)
    return y.detach(), *slopes(y, slope, x, weight)


def by_func(stride: int) -> Callable[..., tuple[Tensor, ...]]:
    """The same as `layer` by torch.func, which vmap can see through."""

    def all_three(x: Tensor, weight: Tensor, slope: Tensor) -> tuple[Tensor, ...]:
        def total(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
            y = convolution(x, weight, stride, "fp32")
            return (y * slope).sum(), y

        grads, y = torch.func.grad(total, (0, 1), has_aux=True)(x, weight)
        return y, *grads

    return all_three


@each_case
def test_output_and_gradients_equal_conv2d(case: Case) -> None:
    values = [numbers(*size, seed=seed) for seed, size in enumerate(sizes(case))]
    torch.testing.assert_close(layer(*values, case[-1]), expected(*values, case[-1]))


@each_case
def test_runs_under_vmap_equal_a_loop(case: Case) -> None:
    values = [numbers(3, *size, seed=seed) for seed, size in enumerate(sizes(case))]
    together = torch.func.vmap(by_func(case[-1]))(*values)
    for run in range(3):
        alone = expected(*(value[run] for value in values), case[-1])
        torch.testing.assert_close(tuple(part[run] for part in together), alone)


@each_case
def test_gradients_of_each_image_in_each_run_equal_a_loop(case: Case) -> None:
    """Two levels of vmap: runs with weights of their own, images that share them."""
    images, weight, out = sizes(case)
    values = [
        numbers(2, 3, *images, seed=0),
        numbers(2, *weight, seed=1),
        numbers(2, 3, *out, seed=2),
    ]
    inner = torch.func.vmap(by_func(case[-1]), in_dims=(0, None, 0))
    together = torch.func.vmap(inner)(*values)
    for run in range(2):
        for image in range(3):
            alone = expected(values[0][run, image], values[1][run], values[2][run, image], case[-1])
            torch.testing.assert_close(tuple(part[run, image] for part in together), alone)


def into_images(slope: Tensor, weight: Tensor) -> Tensor:
    """The gradient of a convolution of stride 2 in images of 5x5."""
    found: Tensor = image_gradient(slope, weight, 2, 5, 5, "ieee")
    return found


def by_autograd(slope: Tensor, weight: Tensor) -> Tensor:
    """The same through conv2d."""
    x = torch.zeros(len(slope), 5, 5, weight.shape[-1], requires_grad=True, dtype=slope.dtype)
    return slopes(convolved(x, weight, 2), slope, x)[0]


@pytest.mark.parametrize(
    ("operator", "plain", "size"),
    [
        (partial(convolve, stride=1, rounding="ieee"), partial(convolved, stride=1), (2, 5, 5, 3)),
        (into_images, by_autograd, (2, 3, 3, 4)),
    ],
    ids=["convolve", "image_gradient"],
)
@pytest.mark.parametrize("dims", [(0, None), (None, 0), (2, 1)])
def test_runs_may_lie_along_any_axis_or_be_shared(
    dims: tuple[int | None, int | None],
    operator: Callable[..., Tensor],
    plain: Callable[..., Tensor],
    size: tuple[int, ...],
) -> None:
    x, weight = numbers(*size), numbers(4, 3, 3, 3, seed=1)
    runs = [torch.stack([x, 2 * x, x + 1]), torch.stack([weight, weight + 1, -weight])]
    given = [
        one if dim is None else stacked.movedim(0, dim)
        for one, stacked, dim in zip((x, weight), runs, dims, strict=True)
    ]
    together = torch.func.vmap(operator, dims)(*given)
    for run in range(3):
        own = [
            one if d is None else s[run] for one, s, d in zip((x, weight), runs, dims, strict=True)
        ]
        torch.testing.assert_close(together[run], plain(*own))


def test_images_without_gradient_get_none() -> None:
    """The first layer's: their gradient is not even computed."""
    x, weight = numbers(2, 5, 5, 3), numbers(4, 3, 3, 3, seed=1).requires_grad_()
    y = convolution(x, weight, 2, "fp32")
    (found,) = slopes(y, torch.ones_like(y), weight)
    torch.testing.assert_close(found, expected(x, weight, torch.ones_like(y.detach()), 2)[2])
    together = torch.func.vmap(
        torch.func.grad(lambda w, x: convolution(x, w, 2, "fp32").sum()), in_dims=(0, None)
    )(torch.stack([weight.detach()] * 2), x)
    torch.testing.assert_close(together, torch.stack([found] * 2))


def test_the_gradient_has_no_gradient() -> None:
    """Nobody needs it; asking for it is an error, not a wrong number."""
    weight = numbers(4, 3, 3, 3).requires_grad_()
    y = convolution(numbers(2, 5, 5, 3, seed=1), weight, 1, "fp32")
    (first,) = torch.autograd.grad(y.square().sum(), weight, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(first.sum(), weight)


def test_weights_stay_in_float32_beside_images_in_bfloat16() -> None:
    x = numbers(2, 6, 6, 3, dtype=torch.bfloat16).requires_grad_()
    weight = numbers(4, 3, 3, 3, seed=1, dtype=torch.float32).requires_grad_()
    y = convolution(x, weight, 1, "bf16")
    assert y.dtype == torch.bfloat16
    to_x, to_weight = torch.autograd.grad(y.float().square().sum(), (x, weight))
    assert (to_x.dtype, to_weight.dtype) == (torch.bfloat16, torch.float32)
    wide, full = x.detach().double().requires_grad_(), weight.detach().double().requires_grad_()
    wanted = convolved(wide, full.permute(0, 2, 3, 1), 1)
    torch.testing.assert_close(y.double(), wanted, rtol=0.02, atol=0.05)
    expected_x, expected_weight = torch.autograd.grad(wanted.square().sum(), (wide, full))
    assert (to_x - expected_x).norm() < 0.02 * expected_x.norm()
    assert (to_weight - expected_weight).norm() < 0.02 * expected_weight.norm()


def calls(dtype: torch.dtype) -> dict[str, Call]:
    """Operators with arguments: one run, runs in line, runs of runs."""
    found: dict[str, Call] = {}
    for name, runs in (("one run", ()), ("runs", (2,)), ("runs of runs", (2, 3))):
        x, weight = numbers(*runs, 2, 5, 4, 3, dtype=dtype), numbers(*runs, 6, 3, 3, 3, dtype=dtype)
        slope = numbers(*runs, 2, 3, 2, 6, dtype=dtype)
        found[f"convolve, {name}"] = (convolve, (x, weight, 2, "ieee"))
        found[f"image_gradient, {name}"] = (image_gradient, (slope, weight, 2, 5, 4, "ieee"))
        point = weight[..., 1:2, 1:2, :].contiguous()
        found[f"pointwise, {name}"] = (image_gradient, (slope, point, 1, 3, 2, "ieee"))
        found[f"weight_gradient, {name}"] = (weight_gradient, (x, slope, 3, 2, "ieee"))
    return found


each_call = pytest.mark.parametrize("call", calls(torch.float64))


@each_call
def test_operators_are_well_formed(call: str) -> None:
    check_well_formed(calls(torch.float64)[call])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@each_call
def test_fake_results_have_the_form_of_real_ones(call: str, dtype: torch.dtype) -> None:
    check_fake_results(calls(dtype)[call])

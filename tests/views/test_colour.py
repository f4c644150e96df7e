"""Colour operations against kornia's, the order of the four against a loop."""

import math
from itertools import permutations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kornia.color import rgb_to_grayscale, rgb_to_hsv
from kornia.enhance import (
    adjust_brightness_accumulative,
    adjust_contrast_with_mean_subtraction,
    adjust_hue,
    adjust_saturation_with_gray_subtraction,
)
from torch import Tensor

from bison_ocl.views.colour import BRIGHTNESS, CONTRAST, SATURATION, blend, grey, jitter, shift_hue

ORACLES = {
    BRIGHTNESS: adjust_brightness_accumulative,
    CONTRAST: adjust_contrast_with_mean_subtraction,
    SATURATION: adjust_saturation_with_gray_subtraction,
}


def images(n: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Noise, with pixels of equal channels and of the corners of the cube among it."""
    generator = torch.Generator().manual_seed(n)
    x = torch.rand(n, 3, 8, 9, dtype=dtype, generator=generator)
    x[:, :, 0] = x[:, :1, 0]
    x[:, :, 1] = x[:, :, 1].round()
    x[:, 0, 2] = x[:, 1, 2]
    x[:, 1, 3] = x[:, 2, 3]
    x[:, 2, 4] = x[:, 0, 4]
    return x


def each(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64).reshape(-1, 1, 1, 1)


def test_grey_is_kornias() -> None:
    x = images(5)
    torch.testing.assert_close(grey(x), rgb_to_grayscale(x), rtol=0, atol=1e-12)


def test_grey_of_grey_is_itself() -> None:
    x = torch.rand(2, 1, 4, 4, dtype=torch.float64)
    torch.testing.assert_close(grey(x.expand(-1, 3, -1, -1)), x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [BRIGHTNESS, CONTRAST, SATURATION])
@pytest.mark.parametrize("factor", [0.0, 0.6, 1.0, 1.4])
def test_blend_is_kornias(kind: int, factor: float) -> None:
    x = images(4)
    blended = blend(x, torch.full((4, 1, 1, 1), kind), each([factor] * 4))
    torch.testing.assert_close(blended, ORACLES[kind](x, factor), rtol=0, atol=1e-12)


def test_blend_has_a_kind_and_a_factor_for_each_image() -> None:
    x, kinds, factors = images(6), [0, 1, 2, 2, 1, 0], [0.6, 0.7, 0.8, 1.2, 1.3, 1.4]
    blended = blend(x, torch.tensor(kinds).reshape(-1, 1, 1, 1), each(factors))
    for i, (kind, factor) in enumerate(zip(kinds, factors, strict=True)):
        expected = ORACLES[kind](x[i : i + 1], factor)[0]
        torch.testing.assert_close(blended[i], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [BRIGHTNESS, CONTRAST, SATURATION])
def test_factor_of_one_changes_nothing(kind: int) -> None:
    x = images(3, torch.float32)
    assert blend(x, torch.full((3, 1, 1, 1), kind), torch.ones(3, 1, 1, 1)).equal(x)


def test_hue_is_kornias() -> None:
    turns = [-0.5, -0.1, -0.03, 0.0, 0.05, 0.1, 0.4]
    x = images(len(turns))
    expected = adjust_hue(x, 2 * math.pi * torch.tensor(turns, dtype=torch.float64))
    # kornia adds 1e-8 to the value it divides by.
    torch.testing.assert_close(shift_hue(x, each(turns)), expected, rtol=0, atol=1e-6)


@settings(max_examples=50)
@given(turns=st.floats(-1, 1), seed=st.integers(0, 1000))
def test_hue_keeps_value_and_saturation_and_turns_back(turns: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(2, 3, 4, 4, dtype=torch.float64, generator=generator)
    turned = shift_hue(x, each([turns, turns]))
    kept, expected = rgb_to_hsv(turned)[:, 1:], rgb_to_hsv(x)[:, 1:]
    torch.testing.assert_close(kept, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(shift_hue(turned, each([-turns, -turns])), x, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("turns", "colour"),
    [(0.0, [1, 0, 0]), (1 / 3, [0, 1, 0]), (-1 / 3, [0, 0, 1]), (0.5, [0, 1, 1])],
)
def test_hue_of_red(turns: float, colour: list[float]) -> None:
    red = torch.tensor([1.0, 0, 0]).reshape(1, 3, 1, 1)
    turned = shift_hue(red, each([turns])).flatten()
    torch.testing.assert_close(turned, torch.tensor(colour).to(turned.dtype), rtol=0, atol=1e-6)


def test_hue_of_grey_stays() -> None:
    x = torch.rand(2, 1, 4, 4).expand(-1, 3, -1, -1)
    assert shift_hue(x, torch.full((2, 1, 1, 1), 0.1)).equal(x)


def test_jitter_in_every_order() -> None:
    orders = list(permutations(range(4)))
    # A wide range of values and factors makes the orders differ, through the clamps too.
    x, n = images(len(orders)), len(orders)
    generator = torch.Generator().manual_seed(0)
    factor = 0.6 + 0.8 * torch.rand(3, n, 1, 1, 1, dtype=torch.float64, generator=generator)
    turns = 0.2 * torch.rand(n, 1, 1, 1, dtype=torch.float64, generator=generator) - 0.1
    # Operation k comes in place order[k].
    order = torch.tensor(orders).T.reshape(4, n, 1, 1, 1) / 4
    jittered = jitter(x, factor, turns, order)
    for i, places in enumerate(orders):
        expected = x[i : i + 1]
        for operation in sorted(range(4), key=lambda k: places[k]):
            if operation == 3:
                expected = adjust_hue(expected, 2 * math.pi * turns[i, 0, 0, 0])
            else:
                expected = ORACLES[operation](expected, factor[operation, i, 0, 0, 0])
        torch.testing.assert_close(jittered[i], expected[0], rtol=0, atol=1e-6)


def test_order_of_jitter_matters() -> None:
    n = 24
    x = images(1).expand(n, -1, -1, -1)
    factor = torch.full((3, n, 1, 1, 1), 1.4, dtype=torch.float64)
    order = torch.tensor(list(permutations(range(4)))).T.reshape(4, n, 1, 1, 1)
    jittered = jitter(x, factor, each([0.1] * n), order).flatten(1)
    differences = (jittered[:, None] - jittered).abs().amax(dim=-1)
    assert (differences + torch.eye(n) > 1e-6).all()


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_jitter_stays_in_unit_interval(seed: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(seed)
    factor = 2 * torch.rand(3, 8, 1, 1, 1, generator=generator)
    turns = 2 * torch.rand(8, 1, 1, 1, generator=generator) - 1
    jittered = jitter(images(8, dtype), factor, turns, torch.rand(4, 8, 1, 1, 1))
    assert jittered.dtype == dtype
    assert jittered.min() >= 0
    assert jittered.max() <= 1

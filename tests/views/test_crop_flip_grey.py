"""Crop, flip and greyscale: a loop over images, the shares of each, draws, vmap."""

from __future__ import annotations

import pytest
import torch
from kornia.color import rgb_to_grayscale
from torch import Tensor
from torch.nn.functional import interpolate

from bison_ocl.rng import Key, key_of, uniforms
from bison_ocl.views.crop import TRIES, random_box
from bison_ocl.views.crop_flip_grey import crop_flip_grey

KEY = key_of(1, 2, "view")


def images(n: int, side: int = 12, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.rand(n, 3, side, side, dtype=dtype, generator=torch.Generator().manual_seed(n))


def draws(n: int) -> dict[str, Tensor]:
    box = {"area": (n, TRIES), "aspect": (n, TRIES), "top": (n,), "left": (n,)}
    return uniforms(KEY, box | {"flip": (n,), "grey": (n,)})


@pytest.mark.parametrize("side", [12, 32])
def test_equals_a_loop_over_images(side: int) -> None:
    n = 40
    x, u = images(n, side), draws(n)
    box = random_box(u["area"], u["aspect"], u["top"], u["left"], (side, side), 0.3)
    views = crop_flip_grey(KEY, x)
    for i in range(n):
        top, left, h, w = (int(v[i]) for v in (box.top, box.left, box.height, box.width))
        assert h * w >= 0.3 * side * side - side  # rounded to whole pixels
        cut = x[i : i + 1, :, top : top + h, left : left + w]
        view = interpolate(cut, size=(side, side), mode="bilinear")
        view = view.flip(-1) if u["flip"][i] < 0.5 else view
        view = rgb_to_grayscale(view).expand_as(view) if u["grey"][i] < 0.25 else view
        torch.testing.assert_close(views[i : i + 1], view, rtol=0, atol=1e-12)


def test_half_are_flipped_and_a_quarter_is_grey() -> None:
    views = crop_flip_grey(KEY, images(1, 8).expand(4000, -1, -1, -1))
    grey = (views.amax(1) - views.amin(1)).amax((1, 2)) < 1e-12
    assert grey.float().mean().item() == pytest.approx(0.25, abs=0.03)
    ramp = torch.arange(8.0, dtype=torch.float64).expand(4000, 3, 8, 8) / 8
    views = crop_flip_grey(KEY, ramp)
    flipped = views[:, 0, 0, 0] > views[:, 0, 0, -1]
    assert flipped.float().mean().item() == pytest.approx(0.5, abs=0.03)


def test_draws_do_not_depend_on_the_dtype() -> None:
    double = crop_flip_grey(KEY, images(5))
    single = crop_flip_grey(KEY, images(5).float())
    half = crop_flip_grey(KEY, images(5).bfloat16())
    assert (single.dtype, half.dtype) == (torch.float32, torch.bfloat16)
    torch.testing.assert_close(single.double(), double, rtol=0, atol=1e-5)
    torch.testing.assert_close(half.double(), double, rtol=0, atol=2e-2)


def test_works_under_vmap() -> None:
    x = torch.stack([images(3), images(3) / 2])
    bits = torch.stack([key_of(seed, 0, "view").bits for seed in (0, 1)])
    together = torch.func.vmap(lambda b, x: crop_flip_grey(Key(b), x))(bits, x)
    expected = [crop_flip_grey(key_of(seed, 0, "view"), x[seed]) for seed in (0, 1)]
    torch.testing.assert_close(together, torch.stack(expected))

"""Crop boxes against torchvision's rule written as a loop, crops against F.interpolate."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import interpolate

from bison_ocl.rng import key_of, uniforms
from bison_ocl.views.crop import TRIES, Box, central_crop, crop, random_box

# The largest number that rng.uniform can draw.
LARGEST = 1 - 2.0**-24


def draws(seed: int, n: int) -> list[Tensor]:
    shapes = {"area": (n, TRIES), "aspect": (n, TRIES), "top": (n,), "left": (n,)}
    return list(uniforms(key_of(seed, 0, "crop"), shapes).values())


def rows(box: Box) -> list[tuple[int, ...]]:
    """Boxes as whole numbers, (top, left, height, width) of each image."""
    numbers = torch.stack([box.top, box.left, box.height, box.width], dim=1)
    assert (numbers == numbers.round()).all()
    return [tuple(row) for row in numbers.long().tolist()]


def naive_box(
    area: list[float], aspect: list[float], top: float, left: float, size: tuple[int, int]
) -> tuple[int, int, int, int]:
    """RandomResizedCrop.get_params of one image."""
    for u, v in zip(area, aspect, strict=True):
        pixels = (0.2 + 0.8 * u) * size[0] * size[1]
        ratio = math.exp(math.log(3 / 4) + v * (math.log(4 / 3) - math.log(3 / 4)))
        width, height = round(math.sqrt(pixels * ratio)), round(math.sqrt(pixels / ratio))
        if 0 < width <= size[1] and 0 < height <= size[0]:
            i = math.floor(top * (size[0] - height + 1))
            return i, math.floor(left * (size[1] - width + 1)), height, width
    height, width = size
    if size[1] / size[0] < 3 / 4:
        height = round(width / (3 / 4))
    elif size[1] / size[0] > 4 / 3:
        width = round(height * (4 / 3))
    return (size[0] - height) // 2, (size[1] - width) // 2, height, width


@pytest.mark.parametrize("size", [(32, 32), (84, 84), (20, 33), (7, 5), (10, 40), (41, 10), (1, 1)])
def test_box_follows_torchvision(size: tuple[int, int]) -> None:
    u = draws(seed=1, n=200)
    expected = [naive_box(*row, size) for row in zip(*(part.tolist() for part in u), strict=True)]
    assert rows(random_box(*u, size, 0.2)) == expected


@pytest.mark.parametrize(
    ("size", "central"),
    [((100, 10), (43, 0, 13, 10)), ((10, 101), (0, 44, 10, 13)), ((10, 11), (0, 0, 10, 11))],
)
def test_central_box_when_no_try_fits(
    size: tuple[int, int], central: tuple[int, int, int, int]
) -> None:
    # The whole area at the largest aspect is wider than the image, or taller at the smallest.
    area = torch.ones(1, TRIES)
    aspect = torch.full((1, TRIES), float(size[1] >= size[0]))
    place = torch.full((1,), 0.9)
    assert rows(random_box(area, aspect, place, place, size, 0.2)) == [central]


def test_first_fitting_try_counts() -> None:
    area = torch.ones(1, TRIES)
    aspect = torch.ones(1, TRIES)
    area[0, 3], aspect[0, 3] = 0.0, 0.5
    area[0, 7], aspect[0, 7] = 0.5, 0.5
    place = torch.zeros(1)
    side = round(math.sqrt(0.2 * 32 * 32))
    assert rows(random_box(area, aspect, place, place, (32, 32), 0.2)) == [(0, 0, side, side)]


@given(
    size=st.tuples(st.integers(1, 300), st.integers(1, 300)),
    u=st.sampled_from([0.0, 0.25, 0.5, LARGEST]),
    v=st.sampled_from([0.0, 0.25, 0.5, LARGEST]),
    w=st.sampled_from([0.0, 0.5, LARGEST]),
)
def test_box_lies_in_image(size: tuple[int, int], u: float, v: float, w: float) -> None:
    tries, place = torch.full((1, TRIES), u), torch.full((1,), w)
    box = random_box(tries, torch.full((1, TRIES), v), place, place, size, 0.2)
    ((top, left, height, width),) = rows(box)
    assert height > 0
    assert width > 0
    assert 0 <= top <= size[0] - height
    assert 0 <= left <= size[1] - width


def test_box_statistics() -> None:
    n = 20_000
    box = random_box(*draws(seed=2, n=n), (1000, 1000), 0.2)
    area, aspect = box.height * box.width / 1e6, box.width / box.height
    # Boxes are rounded to pixels, hence the margins.
    assert 0.199 < area.min() < 0.21
    assert 0.98 < area.max() <= 1
    assert 0.749 < aspect.min() < 0.76
    assert 1.32 < aspect.max() < 1.335
    assert aspect.log().mean().abs() < 0.005
    top = box.top / (1000 - box.height).clamp(min=1)
    left = box.left / (1000 - box.width).clamp(min=1)
    for place in (top, left):
        assert (place.mean() - 0.5).abs() < 0.01
        assert (place.var() - 1 / 12).abs() < 0.005
    assert torch.corrcoef(torch.stack([top, left]))[0, 1].abs() < 0.03


def test_smallest_area_is_a_choice() -> None:
    box = random_box(*draws(seed=3, n=5000), (1000, 1000), 0.3)
    assert 0.299 < (box.height * box.width / 1e6).min() < 0.31


def naive_crop(x: Tensor, box: Box) -> Tensor:
    images = [
        interpolate(image[None, :, i : i + h, j : j + w], size=image.shape[-2:], mode="bilinear")
        for image, (i, j, h, w) in zip(x, rows(box), strict=True)
    ]
    return torch.cat(images)


@pytest.mark.parametrize("size", [(32, 32), (84, 84), (9, 17), (40, 10), (1, 1)])
def test_crop_is_interpolation_of_the_box(size: tuple[int, int]) -> None:
    x = torch.rand(50, 3, *size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    box = random_box(*draws(seed=4, n=50), size, 0.2)
    torch.testing.assert_close(crop(x, box), naive_crop(x, box), rtol=0, atol=1e-13)


@settings(max_examples=50)
@given(data=st.data(), height=st.integers(1, 12), width=st.integers(1, 12))
def test_crop_of_any_box(data: st.DataObject, height: int, width: int) -> None:
    h, w = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    i, j = data.draw(st.integers(0, height - h)), data.draw(st.integers(0, width - w))
    box = Box(*(torch.full((1,), float(number)) for number in (i, j, h, w)))
    x = torch.rand(1, 2, height, width, dtype=torch.float64)
    torch.testing.assert_close(crop(x, box), naive_crop(x, box), rtol=0, atol=1e-13)


def test_crop_does_not_look_outside_the_box() -> None:
    x = torch.zeros(1, 3, 32, 32)
    x[:, :, 5:12, 20:31] = 1
    box = Box(*(torch.full((1,), number) for number in (5.0, 20.0, 7.0, 11.0)))
    assert (crop(x, box) == 1).all()


def test_whole_box_changes_nothing() -> None:
    x = torch.rand(2, 3, 31, 17)
    box = Box(torch.zeros(2), torch.zeros(2), torch.full((2,), 31.0), torch.full((2,), 17.0))
    torch.testing.assert_close(crop(x, box), x)


@pytest.mark.parametrize("size", [(32, 32), (9, 14), (1, 6), (2, 2)])
def test_central_part_of_a_share_of_the_sides(size: tuple[int, int]) -> None:
    x = torch.rand(3, 2, *size, dtype=torch.float64)
    height, width = (max(1, round(0.8 * side)) for side in size)
    top, left = (size[0] - height) // 2, (size[1] - width) // 2
    part = x[..., top : top + height, left : left + width]
    torch.testing.assert_close(central_crop(x, 0.8), interpolate(part, size=size, mode="bilinear"))

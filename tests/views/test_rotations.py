"""Sixteen rotations: pixel by pixel, as a set, with their labels, under vmap."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bison_ocl.errors import UserError
from bison_ocl.rng import key_of
from bison_ocl.views.crop_flip_grey import crop_flip_grey
from bison_ocl.views.rotations import rotated_pairs, rotation_labels, rotations, turn


def images(n: int, side: int = 6) -> Tensor:
    return torch.rand(n, 3, side, side, generator=torch.Generator().manual_seed(n))


def naive(image: Tensor, local: int, quarters: int) -> Tensor:
    """Variant by variant, pixel by pixel. local: 0 none, 1 right half, 2 both, 3 left half"""
    side, out = image.shape[-1], image.clone()
    half = side // 2
    for row in range(side):
        for column in range(side):
            left = column < half
            if (left and local in (2, 3)) or (not left and local in (1, 2)):
                mirrored = half - 1 - column if left else half + side - 1 - column
                out[:, row, column] = image[:, side - 1 - row, mirrored]
    for _ in range(quarters):
        before = out.clone()
        for row in range(side):
            for column in range(side):
                out[:, side - 1 - column, row] = before[:, row, column]
    return out


@pytest.mark.parametrize("side", [6, 7])
def test_equals_a_loop_over_pixels(side: int) -> None:
    x = images(3, side)
    turned = rotations(x)
    assert turned.shape == (48, 3, side, side)
    for r in range(16):
        for i in range(3):
            assert torch.equal(turned[3 * r + i], naive(x[i], r % 4, r // 4)), r


def test_the_first_block_is_not_rotated_and_all_differ() -> None:
    x = images(2)
    turned = rotations(x)
    assert torch.equal(turned[:2], x)
    assert len({row.numpy().tobytes() for row in turned}) == 32


def test_a_half_turn_twice_is_no_turn() -> None:
    x = images(2)
    assert torch.equal(turn(turn(x)), x)


def test_blocks_share_a_label() -> None:
    labels = rotation_labels(torch.tensor([5, 0, 7]), 1000)
    assert labels.tolist() == [y + 1000 * r for r in range(16) for y in (5, 0, 7)]


def test_pairs_are_rotations_and_views_of_them() -> None:
    x, key = images(2), key_of(0, 0, "pairs")
    pairs = rotated_pairs(key, x)
    assert torch.equal(pairs[:32], rotations(x))
    assert torch.equal(pairs[32:], crop_flip_grey(key, rotations(x)))


def test_images_must_be_square() -> None:
    with pytest.raises(UserError, match="6x8 cannot be rotated: make them square"):
        rotations(torch.zeros(1, 3, 6, 8))


def test_works_under_vmap() -> None:
    runs = torch.stack([images(2), images(2) + 1])
    together = torch.func.vmap(rotations)(runs)
    assert torch.equal(together, torch.stack([rotations(run) for run in runs]))

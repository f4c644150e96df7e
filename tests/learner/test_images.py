"""Images from outside become bytes [N, 3, H, W], or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from bison_ocl.errors import UserError
from bison_ocl.learner.images.convert import is_single, to_bytes

BYTES = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
WANTED = torch.from_numpy(BYTES.transpose(0, 3, 1, 2).copy())


def test_height_width_channels_and_channels_first_are_told_apart() -> None:
    assert torch.equal(to_bytes(BYTES), WANTED)
    assert torch.equal(to_bytes(BYTES.transpose(0, 3, 1, 2)), WANTED)
    assert to_bytes(BYTES).is_contiguous()


def test_a_single_image_is_a_batch_of_one() -> None:
    assert torch.equal(to_bytes(BYTES[0]), WANTED[:1])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_byte_survives_the_way_over_floats(dtype: Any) -> None:
    x = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    assert torch.equal(to_bytes((x / 255).astype(dtype)), to_bytes(x))


def test_floats_round_to_the_nearest_byte_and_bounds_are_allowed() -> None:
    x = torch.tensor([0.0, 0.4 / 255, 0.6 / 255, 254.6 / 255, 1.0]).reshape(1, 1, 1, 5)
    assert to_bytes(x)[0, 0, 0].tolist() == [0, 0, 1, 255, 255]


def test_grey_is_repeated() -> None:
    assert torch.equal(to_bytes(BYTES[..., :1]), WANTED[:, :1].expand(-1, 3, -1, -1))


def test_alpha_is_put_on_white_as_in_a_picture() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 8, 4), dtype=np.uint8)
    picture = Image.fromarray(pixels)
    array, wanted = np.asarray(picture), to_bytes(picture)
    first = np.ascontiguousarray(array.transpose(2, 0, 1))[None]
    for form in (array, array[None], first, torch.from_numpy(first), [array], array / 255):
        assert torch.equal(to_bytes(form), wanted)


def test_grey_with_alpha_is_taken_as_a_picture_alone() -> None:
    """Two channels of an array may be anything, such as radar or optical flow."""
    picture = Image.new("LA", (8, 9), (0, 0))
    assert to_bytes(picture).unique().tolist() == [255]
    array = np.asarray(picture)
    for form in (array, array[None], array.transpose(2, 0, 1)[None], [array], array / 255):
        with pytest.raises(UserError, match=r"have 2 channels, not 1, 3 or 4 \(RGBA\): "):
            to_bytes(form)


def test_one_grey_image_needs_no_axis() -> None:
    grey = np.arange(72, dtype=np.uint8).reshape(9, 8)
    assert torch.equal(to_bytes(grey), to_bytes(grey[..., None]))
    assert is_single(grey)
    assert to_bytes(np.zeros((8, 24), np.uint8)).shape == (1, 3, 8, 24)


def test_result_shares_nothing_with_the_input() -> None:
    for source in (BYTES.copy(), torch.from_numpy(BYTES.copy()), WANTED.clone()):
        before = to_bytes(source)
        source[:] = 0
        assert torch.equal(before, WANTED)
        assert before.untyped_storage().nbytes() == before.numel()


def test_read_only_arrays_as_pillow_gives_them() -> None:
    picture = np.asarray(Image.fromarray(BYTES[0]))
    assert not picture.flags.writeable
    assert torch.equal(to_bytes(picture[None]), WANTED[:1])


def test_gradients_and_lists_are_no_obstacle() -> None:
    x = (WANTED.float() / 255).requires_grad_()
    assert torch.equal(to_bytes(x), WANTED)
    assert torch.equal(to_bytes(list(BYTES)), WANTED)


def test_floats_may_lie_outside_by_rounding() -> None:
    found = to_bytes(np.array([-1e-7, 1.0000001, 0.5, 0.0]).reshape(1, 1, 1, 4))
    assert found[0, 0].flatten().tolist() == [0, 255, 128, 0]
    assert to_bytes(torch.ones(1, 3, 2, 2).to(torch.float8_e4m3fn)).unique().tolist() == [255]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (BYTES.astype(np.int64), "not torch.int64: convert"),
        (BYTES.astype(bool), "not torch.bool"),
        (BYTES.astype(np.complex64), "not torch.complex64"),
        (BYTES.astype(np.float32), r"lie in \[0, 1\], not \[0, 119\]: scale"),
        (np.full((1, 2, 2, 3), np.nan), "NaN"),
        (np.full((1, 2, 2, 3), -np.inf), "infinite"),
        (torch.full((1, 3, 2, 2), 1.0001), r"not \[1.0001, 1.0001\]: scale them"),
        (BYTES[0, 0], r"an array \[5, 3\] is no image: reshape rows to \[N, H, W, 1\]"),
        (np.zeros((50, 192), np.uint8), r"an array \[50, 192\] is no image: reshape rows"),
        (np.zeros((192, 50), np.uint8), r"an array \[192, 50\] is no image: reshape rows"),
        (np.zeros((1, 64)), r"an array \[1, 64\] is no image: reshape rows"),
        (np.zeros((2, 3, 32, 3), np.uint8), "may be .*: resize them, 5 pixels or more"),
        (BYTES[None], "add or drop an axis"),
        (np.float32(0.5), "add or drop an axis"),
        (np.zeros((2, 4, 5, 2), np.uint8), r"may be .*: resize them, 5 pixels or more"),
        (np.zeros((9, 8, 8), np.uint8), r"not \[9, 8, 8\]: grey images need an axis, images"),
        (np.zeros((2, 8, 8), np.uint8), r"2 channels, .*: grey images need an axis, images\["),
        (np.zeros((2, 8, 9, 5), np.uint8), r"4 channels .*, not \[2, 8, 9, 5\]: permute the axes"),
        (np.zeros((4, 8, 8), np.uint8), "may be 4 grey images or one with alpha: add an axis"),
        (torch.zeros(2, 3, 8, 8).to_sparse(), "a dense tensor, not a sparse"),
        (torch.zeros(2, 3, 8, 8, device="meta"), "a dense tensor, not one without values"),
        ([BYTES[0], 3], "image 1 is of type int: expected an array"),
        ([BYTES[0], None], "image 1 is of type NoneType: expected an array"),
        ([BYTES[0], BYTES], r"image 1: expected \[H, W\], .* not \[2, 4, 5, 3\]"),
        ([BYTES[0], np.full((4, 5, 3), np.nan)], "image 1: images hold NaN"),
        (np.zeros((2, 4, 0, 3), np.uint8), "must have pixels"),
        ([[1], [1, 2]], "numeric array"),
        (np.array([["a"]]), "numeric array"),
        (object(), "numeric array"),
    ],
)
def test_anything_else_is_refused_in_one_line(images: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        to_bytes(images)
    assert "\n" not in str(caught.value)

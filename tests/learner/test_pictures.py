"""Pictures as people have them: files, bytes, PIL images, several sizes and modes."""

from __future__ import annotations

import sys
import warnings
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from bison_ocl import Learner, UserError
from bison_ocl.data.reading.decode import decode
from bison_ocl.learner.images.convert import is_single, to_bytes

SIZES = [(8, 8), (12, 9), (30, 17)]
"""width and height"""


def picture(size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    width, height = size
    chance = np.random.default_rng(width)
    rgb = chance.integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(rgb).convert(mode)


def png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, format="PNG")
    return file.getvalue()


@pytest.fixture
def forms(tmp_path: Path) -> dict[str, list[Any]]:
    pictures = [picture(size) for size in SIZES]
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for image, path in zip(pictures, paths, strict=True):
        image.save(path)
    arrays = [np.asarray(image) for image in pictures]
    return {
        "PIL": pictures,
        "paths": paths,
        "texts": [str(path) for path in paths],
        "bytes": [png(image) for image in pictures],
        "arrays": arrays,
        "channels first": [array.transpose(2, 0, 1) for array in arrays],
        "tensors": [torch.from_numpy(array.copy()) for array in arrays],
        "floats": [array / 255 for array in arrays],
        "mixed": [pictures[0], paths[1], arrays[2]],
    }


def test_every_form_gives_the_same_squares(forms: dict[str, list[Any]]) -> None:
    wanted = np.stack([decode(png(picture(size)), 10, "x") for size in SIZES])
    for name, form in forms.items():
        assert np.array_equal(to_bytes(form, 10).numpy(), wanted), name
        for one, square in zip(form, wanted, strict=True):
            assert is_single(one)
            assert np.array_equal(to_bytes(one, 10).numpy(), square[None]), name


def test_a_batch_of_another_size_is_resized_too() -> None:
    x = np.stack([np.asarray(picture((12, 9)))] * 2)
    wanted = decode(png(picture((12, 9))), 6, "x")
    assert np.array_equal(to_bytes(x, 6).numpy(), np.stack([wanted] * 2))
    assert to_bytes(np.zeros((0, 9, 12, 3), np.uint8), 6).shape[0] == 0


def test_without_a_size_pictures_of_one_size_are_taken_as_they_are() -> None:
    x = to_bytes([picture((12, 9)), png(picture((12, 9)))])
    assert np.array_equal(x[0].permute(1, 2, 0).numpy(), np.asarray(picture((12, 9))))
    assert torch.equal(x[0], x[1])


def test_sizes_that_differ_are_refused_with_what_to_set(forms: dict[str, list[Any]]) -> None:
    for form in forms.values():
        with pytest.raises(UserError, match=r"differ in size \(8x8, 9x12, ...\).*image_size=8"):
            to_bytes(form)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "1", "LA", "CMYK", "I;16"])
def test_every_mode_becomes_rgb_as_in_a_file(mode: str) -> None:
    if mode == "I;16":
        image = Image.fromarray(np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000)
    else:
        image = picture((8, 8), mode)
    found = to_bytes(image)
    assert found.shape == (1, 3, 8, 8)
    if mode != "CMYK":  # which no PNG holds
        assert np.array_equal(found[0].numpy(), decode(png(image), None, "x"))


def test_grey_arrays_in_a_list_of_pictures() -> None:
    grey = np.asarray(picture((12, 9), "L"))
    found = to_bytes([grey, picture((8, 8))], 9)
    assert torch.equal(found[0, 0], found[0, 1])


@pytest.mark.parametrize("side", [None, 6])
def test_grey_arrays_of_one_size_are_taken_as_those_of_several(side: int | None) -> None:
    grey = np.asarray(picture((8, 8), "L"))
    both = to_bytes([grey, torch.from_numpy(grey.copy())], side)
    assert torch.equal(both, to_bytes([grey[..., None]] * 2, side))


def truncated() -> Image.Image:
    """Opened, but not read yet."""
    return Image.open(BytesIO(png(picture((30, 17)))[:-200]))


def closed() -> Image.Image:
    image = picture((8, 8))
    image.close()
    return image


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (truncated(), r"image 0 cannot be decoded \(.*truncated"),
        (closed(), r"image 0 cannot be decoded \(Operation on closed image"),
        (picture((8, 8), "LA").convert("La"), r"image 0 cannot be decoded \("),
        (Image.new("RGB", (0, 0)), "image 0 has no pixels"),
        (Image.new("L", (0, 5)), "image 0 has no pixels"),
        (picture((8, 8), "L").convert("I"), "image 0 is of mode I with no value above 255"),
        ("a\0b", r"cannot read 'a\\x00b': embedded null byte; check the path"),
        ("a\ud800", r"cannot read 'a\\ud800': 'utf-8' codec can't encode"),
        ("", "cannot read an empty path: Is a directory"),
        ("nowhere.png", "cannot read nowhere.png: No such file"),
        (b"", "image 0 is empty"),
        (b"no image", r"image 0 cannot be decoded \(not an image\)"),
        (Image.new("F", (8, 8)), "image 0 is refused: floating-point pixels"),
        (Path("/"), "cannot read /"),
    ],
)
def test_what_is_no_picture_is_named(image: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        to_bytes([image], 8)
    assert "\n" not in str(caught.value)


def test_arrays_are_taken_while_another_thread_imports_pil(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", ModuleType("PIL.Image"))
    assert to_bytes(np.zeros((2, 8, 8, 3), np.uint8)).shape == (2, 3, 8, 8)
    assert not is_single([0])


def test_a_learner_takes_pictures_and_keeps_their_size(
    forms: dict[str, list[Any]], tmp_path: Path
) -> None:
    learner = Learner("er", memory=20, filters=2, image_size=8, stream_batch=3)
    for name, form in forms.items():
        learner.observe(form, ["a", "b", "c"], ids=[f"{name} {i}" for i in range(3)])
    assert learner.memory.images.shape[1:] == (8, 8, 3)
    learner.observe(forms["PIL"][0], "a")
    assert learner.predict(forms["PIL"]) == learner.predict(forms["paths"])
    assert learner.predict(forms["paths"][1]) == learner.predict([forms["paths"][1]])
    learner.save(tmp_path / "herd")
    loaded = Learner.load(tmp_path / "herd")
    assert loaded.predict(forms["bytes"]) == learner.predict(forms["bytes"])


@pytest.mark.parametrize("size", [0, 2.5, "8", True, 4097, 2**40])
def test_sizes_that_are_no_numbers_are_refused(size: Any) -> None:
    with pytest.raises(UserError, match=r"^image_size="):
        Learner("er", image_size=size)


def test_images_too_large_for_a_file_are_refused_before_they_are_learned(tmp_path: Path) -> None:
    learner = Learner("er", memory=10, backbone=nn.Flatten())
    wide = np.zeros((10, 4, 4096, 1), np.uint8)
    with pytest.raises(UserError, match=r"4x4097, with more than 4,096 pixels a side: resize them"):
        learner.observe(np.pad(wide, [(0, 0), (0, 0), (0, 1), (0, 0)]), list(range(10)))
    learner.observe(wide, list(range(10)))
    learner.save(tmp_path / "herd")
    Learner.load(tmp_path / "herd", backbone=nn.Flatten())


def test_large_images_are_warned_of_once() -> None:
    large = np.zeros((2, 224, 224, 3), np.uint8)
    learner = Learner("finetune", filters=1)
    message = "224x224 pixels: a step takes about 49 times.*image_size"
    with pytest.warns(UserWarning, match=message) as said:
        learner.observe(large[:1], ["a"])
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.observe(large[:1], ["a"])
        Learner("finetune", filters=1, image_size=32).observe(large, ["a", "b"])

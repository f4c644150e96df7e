"""The embedded digits are the published ones, split once and for all."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from tools import make_digits

from bison_ocl import data as datasets
from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.data.sources import digits
from tests.data.mutations import mutations, read_or_refused

FILE = files("bison_ocl.data.sources").joinpath("digits.npz")


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return digits.load()


def places_by_loop() -> tuple[list[int], list[int]]:
    """Where the training and test images are in scikit-learn's file, digit by digit."""
    train: list[int] = []
    test: list[int] = []
    labels = load_digits().target
    for digit in range(10):
        met = 0
        for place, label in enumerate(labels):
            if label == digit and met < 174:
                (test if met % 5 == 4 else train).append(place)
                met += 1
        assert met == 174
    return train, test


def test_train_and_test_images_are_different_images() -> None:
    train, test = places_by_loop()
    assert (len(set(train)), len(set(test))) == (1400, 340)
    assert not set(train) & set(test)


def test_train_and_test_share_no_equal_image(dataset: Dataset) -> None:
    train, test = ({image.tobytes() for image in part.x.numpy()} for part in parts(dataset))
    assert not train & test


def parts(dataset: Dataset) -> tuple[Batch, Batch]:
    return dataset.train, dataset.test


def test_every_pixel_is_scikit_learns(dataset: Dataset) -> None:
    source = load_digits()
    for part, places in zip(parts(dataset), places_by_loop(), strict=True):
        assert part.y.tolist() == source.target[places].tolist()
        bytes_8x8 = np.floor(source.images[places] * 255 / 16 + 0.5)
        shown = np.kron(bytes_8x8, np.ones((4, 4)))
        for channel in range(3):
            assert np.array_equal(part.x[:, channel].numpy(), shown)


@pytest.mark.parametrize(("part", "each"), [("train", 140), ("test", 34)])
def test_every_class_has_as_many_images(dataset: Dataset, part: str, each: int) -> None:
    batch: Batch = getattr(dataset, part)
    assert torch.bincount(batch.y).tolist() == [each] * 10
    assert batch.x.shape == (10 * each, 3, 32, 32)
    assert (batch.x.dtype, batch.y.dtype) == (torch.uint8, torch.int64)
    assert batch.x.is_contiguous()


def test_pixels_take_seventeen_levels_from_black_to_white(dataset: Dataset) -> None:
    levels = np.unique(dataset.train.x.numpy()).tolist()
    assert levels == [int(value * 255 / 16 + 0.5) for value in range(17)]
    assert (levels[0], levels[-1]) == (0, 255)


def test_the_dataset_describes_itself(dataset: Dataset) -> None:
    assert (dataset.name, dataset.classes, dataset.tasks) == ("split-digits", 10, 5)
    assert dataset.class_names == tuple("0123456789")
    assert dataset.shape == (3, 32, 32)


def test_loading_twice_gives_equal_independent_images(dataset: Dataset) -> None:
    again = digits.load()
    assert torch.equal(again.train.x, dataset.train.x)
    again.train.x.zero_()
    assert dataset.train.x.any()


def test_the_file_holds_small_plain_bytes() -> None:
    with FILE.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        shapes = {name: (array.shape, array.dtype.name) for name, array in arrays.items()}
        brightest = arrays["train_x"].max()
    assert shapes == {
        "train_x": ((1400, 8, 8), "uint8"),
        "train_y": ((1400,), "uint8"),
        "test_x": ((340, 8, 8), "uint8"),
        "test_y": ((340,), "uint8"),
    }
    assert brightest == 16


def test_the_file_is_the_one_that_was_published() -> None:
    content = FILE.read_bytes()
    assert len(content) < 100_000
    assert (
        hashlib.sha256(content).hexdigest()
        == "d7471198b1e22a55d84c054dadee374165ce1cead318668d86d2d657f688a344"
    )


def test_any_damage_to_the_file_is_refused() -> None:
    whole = FILE.read_bytes()
    for content in mutations(whole, seed=0, count=100):
        got = read_or_refused(partial(digits.from_bytes, content))
        assert (got is None) == (content != whole)


def test_the_licence_travels_with_the_file() -> None:
    notice = files("bison_ocl.data.sources").joinpath("digits.LICENSE.txt").read_text("utf-8")
    for words in ("CC BY 4.0", "10.24432/C50P49", "Alpaydin", "What was changed", "scikit-learn"):
        assert words in notice


def test_a_dataset_is_loaded_by_name(dataset: Dataset) -> None:
    assert torch.equal(datasets.load("split-digits").test.x, dataset.test.x)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown dataset 'mnist'.*split-digits"):
        datasets.load("mnist")
    with pytest.raises(ValueError, match=r"unknown dataset 'n+': choose from"):
        datasets.load("n" * 5000)


def test_a_folder_is_answered_with_its_name_as_a_dataset(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"a folder of images is folder:{tmp_path}"):
        datasets.load(str(tmp_path))


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("from bison_ocl.data import DATASETS; assert DATASETS", "torch"),
        ("from bison_ocl.data import load; load('split-digits')", "sklearn"),
    ],
)
def test_nothing_heavy_is_imported_without_need(code: str, absent: str) -> None:
    check = f"import sys; {code}; assert {absent!r} not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_the_embedded_digits_cannot_be_cut_otherwise() -> None:
    with pytest.raises(ValueError, match="only folder:PATH does"):
        datasets.load("split-digits", tasks=2)


def test_the_tool_writes_the_file_that_is_there(tmp_path: Path) -> None:
    assert str(FILE) == str(make_digits.TARGET)
    make_digits.write(tmp_path / "digits.npz", make_digits.split())
    with np.load(tmp_path / "digits.npz") as made, np.load(make_digits.TARGET) as there:
        assert set(made) == set(there)
        assert all(np.array_equal(made[name], there[name]) for name in there)

"""Build src/bison_ocl/data/sources/digits.npz from scikit-learn's copy of the UCI digits.

Of each digit the first 174 images in file order are kept (the rarest digit, 8, has just 174);
every fifth of them is a test image, the other 140 are training images. File order follows the
13 writers, so each writer is in both parts. Images are stored digit by digit, in file order.

    python tools/make_digits.py
"""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

TARGET = Path(__file__).parents[1] / "src" / "bison_ocl" / "data" / "sources" / "digits.npz"
DIGITS, KEPT, TEST_EVERY = 10, 174, 5

Bytes = npt.NDArray[np.uint8]


def first_of_each(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where the first KEPT images of each digit are, [DIGITS, KEPT]."""
    places = [np.flatnonzero(labels == digit) for digit in range(DIGITS)]
    for digit, found in enumerate(places):
        if len(found) < KEPT:
            raise ValueError(f"digit {digit} has {len(found)} images, {KEPT} are needed")
    return np.stack([found[:KEPT] for found in places])


def split() -> dict[str, Bytes]:
    """The arrays of the file, by name: images [N, 8, 8] of values 0..16, labels [N]."""
    images, labels = load_digits().images, load_digits().target
    kept = first_of_each(labels)
    test = np.arange(KEPT) % TEST_EVERY == TEST_EVERY - 1
    parts = {"train": kept[:, ~test].ravel(), "test": kept[:, test].ravel()}
    return {
        f"{part}_{name}": values[places].astype(np.uint8)
        for part, places in parts.items()
        for name, values in (("x", images), ("y", labels))
    }


def write(path: Path, arrays: dict[str, Bytes]) -> None:
    """An .npz whose bytes depend on the arrays and zlib only: no clock, no platform."""
    with ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            entry = ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.create_system = ZIP_DEFLATED, 3
            with archive.open(entry, "w") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)


if __name__ == "__main__":
    write(TARGET, split())

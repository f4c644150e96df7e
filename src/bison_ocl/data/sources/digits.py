"""Real 8x8 handwritten digits, embedded: 10 classes, 140 + 34 images each, shown as 3x32x32.

Alpaydin & Kaynak 1998, UCI optical recognition of handwritten digits (CC BY 4.0).
The excerpt is made by tools/make_digits.py and described in digits.LICENSE.txt.
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from io import BytesIO

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.errors import UserError

SHA256 = "d7471198b1e22a55d84c054dadee374165ce1cead318668d86d2d657f688a344"
"""of digits.npz"""


def load() -> Dataset:
    """Split digits: 5 tasks of 2 digits."""
    return from_bytes(files("bison_ocl.data.sources").joinpath("digits.npz").read_bytes())


def from_bytes(content: bytes) -> Dataset:
    """The dataset in the file, refused if its checksum differs."""
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise UserError("digits.npz of bison-ocl is damaged: install the package again")
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        train, test = (
            Batch(enlarge(arrays[f"{part}_x"]), torch.from_numpy(arrays[f"{part}_y"]).long())
            for part in ("train", "test")
        )
    names = tuple(str(digit) for digit in range(10))
    return Dataset("split-digits", train, test, classes=10, tasks=5, class_names=names)


def enlarge(images: npt.NDArray[np.uint8]) -> Tensor:
    """Values 0..16 [N, 8, 8] to bytes [N, 3, 32, 32]: every pixel 4x4 times, in three channels."""
    levels = torch.arange(17) * 255 / 16
    pixels = levels.round().to(torch.uint8)[torch.from_numpy(images).long()]
    large = pixels.repeat_interleave(4, dim=1).repeat_interleave(4, dim=2)
    return large[:, None].repeat(1, 3, 1, 1)

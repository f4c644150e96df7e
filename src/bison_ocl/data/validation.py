"""Training images held out to choose settings by; the test images then play no part.

Every class gives the same share, so every task does too, whatever the stream. The draw depends on
the class alone: all methods, settings and seeds are compared on the same images.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import torch
from torch import Tensor

from bison_ocl.data.dataset import Dataset
from bison_ocl.errors import UserError
from bison_ocl.rng import key_of, permutation


def held_out(dataset: Dataset, share: float) -> Dataset:
    """The dataset with a share of its training images in place of its test images."""
    check_share(share)
    chosen = mask(dataset, share)
    return replace(
        dataset,
        train=dataset.train[~chosen],
        test=dataset.train[chosen],
        train_sha256=derived(dataset.train_sha256, f"without {share!r}"),
        test_sha256=derived(dataset.train_sha256, f"only {share!r}"),
    )


def check_share(share: float) -> None:
    if not 0 < share < 1:
        raise UserError(f"--validate {share:g}: expected a number between 0 and 1, such as 0.1")


def mask(dataset: Dataset, share: float) -> Tensor:
    """Which training images are held out: of each class at least one, but not all [N]"""
    labels = dataset.train.y.cpu()
    chosen = torch.zeros_like(labels, dtype=torch.bool)
    for label in range(dataset.classes):
        images = (labels == label).nonzero()[:, 0]
        if len(images) < 2:
            name = dataset.class_names[label]
            raise UserError(
                f"--validate: class {name!r} of {dataset.name} has a single image: "
                "add images, or leave out --validate"
            )
        count = min(max(1, int(share * len(images) + 0.5)), len(images) - 1)
        order = permutation(key_of(0, label, "validation"), len(images))
        chosen[images[order[:count]]] = True
    return chosen


def derived(sha256: str, part: str) -> str:
    """A checksum for a part of images with a checksum; none where the whole has none."""
    return hashlib.sha256(f"{sha256} {part}".encode()).hexdigest() if sha256 else ""

"""Interface of a dataset on disk, for caching, checking and opening it.

A source finds its files when it is made, and raises UserError if they are missing or broken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bison_ocl.errors import UserError, reason

Split = Literal["train", "test"]
SPLITS: tuple[Split, Split] = ("train", "test")
Images = NDArray[np.uint8]
"""[n, 3, H, W]"""
Labels = NDArray[np.int64]
"""[n], the dataset's own class ids"""


@dataclass(frozen=True)
class Layout:
    """Sizes and names, known before any image is decoded."""

    shape: tuple[int, int, int]
    train: int
    test: int
    tasks: int
    class_names: tuple[str, ...]


class Source(Protocol):
    """Files of one dataset, in any place and official form.

    It may also have `paths`: the files whose checksums `data check` compares with official ones.
    """

    name: str

    def fingerprint(self) -> dict[str, Any]:
        """A value that changes with names, sizes and times of the files, or the reading rules."""

    def layout(self) -> Layout: ...

    def images(self, split: Split) -> Iterator[tuple[Images, Labels]]:
        """All images of a split, in chunks, in a fixed order."""


def chunks(source: Source, layout: Layout, split: Split) -> Iterator[tuple[Images, Labels]]:
    """The images of a split, checked against the layout: sizes, labels, counts, classes."""
    counts = np.zeros(len(layout.class_names), dtype=np.int64)
    for x, y in readable(source, split):
        if x.shape != (len(y), *layout.shape) or x.dtype != np.uint8:
            raise UserError(
                f"{source.name}: {split} images are {x.dtype} {x.shape[1:]}, "
                f"expected uint8 {layout.shape}"
            )
        strange = y[(y < 0) | (y >= len(counts))]
        if len(strange):
            raise UserError(
                f"{source.name}: {split} label {strange[0]} is not one of the {len(counts)} classes"
            )
        counts += np.bincount(y, minlength=len(counts))
        yield np.ascontiguousarray(x), y.astype(np.int64, copy=False)
    if counts.sum() != getattr(layout, split):
        raise UserError(
            f"{source.name}: {counts.sum()} {split} images, expected {getattr(layout, split)}"
        )
    if not counts.all():
        name = layout.class_names[int(counts.argmin())]
        raise UserError(f"{source.name}: class {name!r} has no {split} image")


def readable(source: Source, split: Split) -> Iterator[tuple[Images, Labels]]:
    """The images of a split; an unreadable file gives a one-line error."""
    with reading(source):
        yield from source.images(split)


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turn file errors into one line that names the file."""
    try:
        yield
    except OSError as error:
        why = reason(error)
        raise UserError(f"cannot read {error.filename or source.name}: {why}") from error

"""What a dataset on disk must say of itself to be cached, checked and opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Split = Literal["train", "test"]
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
    """Files of one dataset, wherever and in whichever official form they lie."""

    name: str

    def fingerprint(self) -> dict[str, Any]:
        """What changes when the files do: names, sizes, times, the version of the reading rules."""

    def layout(self) -> Layout: ...

    def images(self, split: Split) -> Iterator[tuple[Images, Labels]]:
        """All images of a split, in chunks, in a fixed order."""

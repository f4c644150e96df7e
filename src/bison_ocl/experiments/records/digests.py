"""Which images a run was made of: checksums of both splits, in its record and its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # plans are made without torch
    from bison_ocl.data.dataset import Dataset

TEST, TRAIN = "data_sha256", "train_sha256"


def digests(dataset: Dataset) -> dict[str, str | None]:
    """As records tell them; None where nobody asked."""
    return {TEST: dataset.test_sha256 or None, TRAIN: dataset.train_sha256 or None}


def differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two are of different images, as far as both tell."""
    pairs = [(one.get(split), other.get(split)) for split in (TEST, TRAIN)]
    return any(here and there and here != there for here, there in pairs)

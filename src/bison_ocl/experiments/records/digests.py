"""Checksums of training and test images, kept in records and checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # plans are made without torch
    from bison_ocl.data.dataset import Dataset


class Images(Protocol):
    """Anything with checksums of its images: a record, a checkpoint, a dataset."""

    @property
    def data_sha256(self) -> str | None: ...

    @property
    def train_sha256(self) -> str | None: ...


@dataclass(frozen=True)
class Digests:
    """Checksums of the test and the training images; None if not computed."""

    data_sha256: str | None = None
    train_sha256: str | None = None


def digests(dataset: Dataset) -> Digests:
    return Digests(dataset.test_sha256 or None, dataset.train_sha256 or None)


def differ(one: Images, other: Images) -> bool:
    """Whether two used different images, judged by the checksums that both have."""
    pairs = [
        (one.data_sha256, other.data_sha256),
        (one.train_sha256, other.train_sha256),
    ]
    return any(here and there and here != there for here, there in pairs)

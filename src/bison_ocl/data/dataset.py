"""A dataset: training images, test images, and the number of tasks."""

from __future__ import annotations

from dataclasses import dataclass

from bison_ocl.batch import Batch


@dataclass(frozen=True)
class Dataset:
    """train, test: bytes [N, 3, H, W] with the original class ids, 0..classes-1, as int64."""

    name: str
    train: Batch
    test: Batch
    classes: int
    tasks: int
    class_names: tuple[str, ...]
    test_sha256: str = ""
    """of the bytes of the test images and their labels; empty if not computed"""
    train_sha256: str = ""
    """the same for the training images"""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        channels, height, width = self.train.x.shape[1:]
        return channels, height, width

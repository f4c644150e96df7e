"""The 100 classes of Mini-ImageNet, and the rule that selects 100 of 600 images for testing.

Rule 1, seed 0: an image draws its number from `split-miniimagenet 1, seed 0/CLASS/IMAGE` (see
held_out.py), and the 100 lowest of a class are the test images. CLASS is the WordNet id; IMAGE is
the file name without its extension, so that every source with the names of Ravi & Larochelle (2017)
gives the same images. The cache pickles have no file names: there IMAGE is the image's index in its
class, from 0, and the test images differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from bison_ocl.data.sources.held_out import lowest

RULE = "split-miniimagenet 1, seed 0"


@dataclass(frozen=True)
class Benchmark:
    """The expected contents of the dataset; tests use smaller ones."""

    classes: dict[str, str]
    """WordNet id to name; class ids follow the order of the WordNet ids"""
    train: int = 500
    test: int = 100
    side: int = 84
    tasks: int = 10

    @property
    def each(self) -> int:
        """The number of images per class."""
        return self.train + self.test

    def held_out(self, class_name: str, images: Sequence[str]) -> set[str]:
        """The test images of a class."""
        return lowest(RULE, class_name, images, self.test)


def official() -> Benchmark:
    """100 classes of 500 + 100 images of 84x84, 10 tasks."""
    text = files("bison_ocl.data.sources").joinpath("miniimagenet.txt").read_text("utf-8")
    lines = text.splitlines()
    return Benchmark({wnid: name for wnid, name in (line.split("\t") for line in lines)})

"""The 100 classes of Mini-ImageNet, and which 100 of a class's 600 images are for testing.

Rule 1, seed 0: an image draws its number from `split-miniimagenet 1, seed 0/CLASS/IMAGE` (see
held_out.py), and the 100 lowest of a class are the test images. CLASS is the WordNet id; IMAGE is
the file name without its ending, so that every source with the names of Ravi & Larochelle (2017)
gives the same images. The cache pickles have no file names: there IMAGE is the image's place in its
class, from 0, and the test images are others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from bison_ocl.data.sources.held_out import lowest

RULE = "split-miniimagenet 1, seed 0"


@dataclass(frozen=True)
class Benchmark:
    """What belongs in the dataset; another one only in tests."""

    classes: dict[str, str]
    """WordNet id to name; class ids follow the order of the WordNet ids"""
    train: int = 500
    test: int = 100
    side: int = 84
    tasks: int = 10

    @property
    def each(self) -> int:
        """Images of a class."""
        return self.train + self.test

    def held_out(self, class_name: str, images: Sequence[str]) -> set[str]:
        """The test images of a class."""
        return lowest(RULE, class_name, images, self.test)


def official() -> Benchmark:
    """100 classes of 500 + 100 images of 84x84, 10 tasks."""
    text = files("bison_ocl.data.sources").joinpath("miniimagenet.txt").read_text("utf-8")
    lines = text.splitlines()
    return Benchmark({wnid: name for wnid, name in (line.split("\t") for line in lines)})

"""Mini-ImageNet from the three cache pickles of Ren et al. (2018): 64 + 16 + 20 classes.

Each is a dict: image_data, bytes [N, 84, 84, 3], and class_dict, WordNet id to indices. One pickle
at a time is in memory (the largest has 813 MB), and only while the cache is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bison_ocl.data.reading import unpickle
from bison_ocl.data.reading.budget import open_regular
from bison_ocl.data.reading.opcodes import MOST_BYTES
from bison_ocl.data.sources.class_folders import expect_classes, expect_images
from bison_ocl.data.sources.miniimagenet_rule import RULE, Benchmark
from bison_ocl.data.sources.source import Images, Labels, Layout, Split
from bison_ocl.errors import UserError

PICKLES = tuple(f"mini-imagenet-cache-{part}.pkl" for part in ("train", "val", "test"))


@dataclass
class Pickles:
    """The three files in a folder."""

    name: str
    place: Path
    benchmark: Benchmark

    def __post_init__(self) -> None:
        for path in self.paths:
            if not path.is_file():
                raise UserError(f"{path} is missing: all three cache pickles are needed")

    @property
    def paths(self) -> list[Path]:
        return [self.place / name for name in PICKLES]

    def fingerprint(self) -> dict[str, Any]:
        """The rule, and sizes and times of the files."""
        stats = {path.name: path.stat() for path in self.paths}
        return {
            "rule": f"{RULE}, by place",
            "files": {name: [about.st_size, about.st_mtime_ns] for name, about in stats.items()},
        }

    def layout(self) -> Layout:
        wanted = self.benchmark
        names = tuple(wanted.classes[wnid] for wnid in sorted(wanted.classes))
        train, test = len(names) * wanted.train, len(names) * wanted.test
        return Layout((3, wanted.side, wanted.side), train, test, wanted.tasks, names)

    def images(self, split: Split) -> Iterator[tuple[Images, Labels]]:
        """One class at a time, in the order of the files and of their classes."""
        read: set[str] = set()
        for path in self.paths:
            yield from self.of_file(path, split, read)
        expect_classes(str(self.place), read, self.benchmark.classes)

    def of_file(self, path: Path, split: Split, read: set[str]) -> Iterator[tuple[Images, Labels]]:
        """The classes of one file, which are added to `read`; the file is then released."""
        label = {wnid: number for number, wnid in enumerate(sorted(self.benchmark.classes))}
        pixels, classes = content(path, self.benchmark)
        if both := read & set(classes):
            raise UserError(f"{path}: class {min(both)} is also in another of the three files")
        read |= set(classes)
        for wnid in sorted(classes):
            x = pixels[classes[wnid][self.chosen(wnid, split)]].transpose(0, 3, 1, 2)
            yield np.ascontiguousarray(x), np.full(len(x), label[wnid], dtype=np.int64)

    def chosen(self, wnid: str, split: Split) -> list[int]:
        """The indices within a class, from 0, of the images of a split."""
        places = [str(place) for place in range(self.benchmark.each)]
        held_out = self.benchmark.held_out(wnid, places)
        return [int(place) for place in places if (place in held_out) == (split == "test")]


def content(path: Path, benchmark: Benchmark) -> tuple[Images, dict[str, Labels]]:
    """The images [N, side, side, 3] of a pickle, and the indices of each class."""
    with open_regular(path, MOST_BYTES) as file:
        loaded = unpickle.named(unpickle.load(file, path)) or {}
    pixels, places = loaded.get("image_data"), unpickle.named(loaded.get("class_dict"))
    if not isinstance(pixels, np.ndarray) or places is None:
        raise UserError(f"{path} has no image_data and class_dict: use the official file")
    if pixels.dtype != np.uint8 or pixels.shape[1:] != (benchmark.side, benchmark.side, 3):
        raise UserError(
            f"{path}: images are {pixels.dtype} {pixels.shape[1:]}, "
            f"not uint8 {(benchmark.side, benchmark.side, 3)}: use the official file"
        )
    return pixels, class_places(path, places, len(pixels), benchmark)


def class_places(
    path: Path, places: dict[str, Any], images: int, benchmark: Benchmark
) -> dict[str, Labels]:
    """The indices of each class, refused unless classes are known, complete and disjoint."""
    for wnid in places:
        if wnid not in benchmark.classes:
            raise UserError(
                f"{path}: class {wnid} is not one of the {len(benchmark.classes)} expected"
            )
    try:
        classes = {wnid: unpickle.integers(index) for wnid, index in places.items()}
    except ValueError as error:
        raise UserError(f"{path}: class_dict is damaged: use the official file") from error
    expect_images(str(path), classes, benchmark.each)
    every = np.concatenate([np.empty(0, np.int64), *classes.values()])
    if len(np.unique(every)) < len(every):
        raise UserError(f"{path}: class_dict is damaged: use the official file")
    if len(every) and (every.min() < 0 or every.max() >= images):
        raise UserError(f"{path}: class_dict names missing images: use the official file")
    return classes

"""A source of image files with their classes and splits."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from bison_ocl.data.reading import decode
from bison_ocl.data.reading.listing import Listing
from bison_ocl.data.sources.class_folders import Classes
from bison_ocl.data.sources.source import SPLITS, Images, Labels, Layout, Split
from bison_ocl.errors import UserError

CHUNK = 256
"""images decoded at a time"""


Picture = tuple[str, int]
"""a file and its class id"""


@dataclass
class Pictures:
    """Image files of a listing with their classes, in decoding order."""

    name: str
    files: Listing
    rule: str
    """the rule for classes and splits, with its version"""
    side: int
    tasks: int
    class_names: tuple[str, ...]
    splits: dict[Split, list[Picture]]

    def __post_init__(self) -> None:
        for split in SPLITS:
            for name, _ in self.splits[split]:
                if not self.files.size(name):
                    raise UserError(f"{self.files.path(name)} is empty (0 bytes): replace it")

    def fingerprint(self) -> dict[str, Any]:
        """The rules, and a digest of all names, labels, sizes and times."""
        digest = hashlib.sha256(repr(self.class_names).encode())
        for split in SPLITS:
            for name, label in self.splits[split]:
                size, version = self.files.files[name]
                digest.update(os.fsencode(f"{split}\0{label}\0{name}\0{size}\0{version}\n"))
        return {
            "rule": self.rule,
            "decoding": decode.VERSION,
            "side": self.side,
            "tasks": self.tasks,
            "files": digest.hexdigest(),
        }

    def layout(self) -> Layout:
        shape = (3, self.side, self.side)
        train, test = (len(self.splits[split]) for split in SPLITS)
        return Layout(shape, train, test, self.tasks, self.class_names)

    def images(self, split: Split) -> Iterator[tuple[Images, Labels]]:
        """The images in order, decoded in chunks by all cores."""
        pictures = self.splits[split]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for start in range(0, len(pictures), CHUNK):
                chunk = pictures[start : start + CHUNK]
                x = np.stack(list(pool.map(self.decoded, chunk)))
                yield x, np.array([label for _, label in chunk], dtype=np.int64)

    def decoded(self, picture: Picture) -> Images:
        """One image [3, side, side]."""
        name, _ = picture
        return decode.decode(self.files.read(name), self.side, self.files.path(name))


def labelled(classes: Classes) -> list[Picture]:
    """Pictures in the order of their classes, whose ids are their positions."""
    return [(name, label) for label, names in enumerate(classes.values()) for name in names]

"""Small image files and archives, made by the tests themselves."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from bison_ocl.data.sources.source import SPLITS, Images, Labels, Source, Split, chunks


def save(path: Path, colour: tuple[int, int, int] = (0, 0, 0), side: int = 8) -> Path:
    """One plain image, losslessly, under whatever name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (side, side), colour).save(path, format="PNG")
    return path


def colour_of(number: int) -> tuple[int, int, int]:
    """A colour of its own for every image."""
    return number % 256, number // 256, 77


def zipped(folder: Path, archive: Path, top: str) -> Path:
    """A zip archive of a folder, whose files lie in one folder `top`; `/` at the end."""
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                file.write(path, top + path.relative_to(folder).as_posix())
        file.writestr("__MACOSX/._junk.jpg", b"junk")
    return archive


def everything(source: Source, split: Split) -> tuple[Images, Labels]:
    """All images of a split, held against the layout."""
    parts = list(chunks(source, source.layout(), split))
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def numbers(source: Source, split: Split) -> NDArray[np.int64]:
    """The numbers from which the colours of the images were made."""
    x, _ = everything(source, split)
    return x[:, 0, 0, 0].astype(np.int64) + 256 * x[:, 1, 0, 0].astype(np.int64)


def both_splits(read: Callable[[Path], Source], place: Path) -> None:
    """Find and read everything."""
    source = read(place)
    for split in SPLITS:
        everything(source, split)


def later(path: Path) -> None:
    """Make a file look changed."""
    about = path.stat()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1_000_000))

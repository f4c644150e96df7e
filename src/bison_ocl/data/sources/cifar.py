"""Files of CIFAR-10 and CIFAR-100: Python or binary version, as archive or folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from bison_ocl.data.reading import unpickle
from bison_ocl.data.reading.contents import TarArchive, UnpackedFolder
from bison_ocl.data.sources.source import SPLITS, Images, Labels, Layout, Split
from bison_ocl.errors import UserError, reason

RULES = 1
"""version of the reading rules; caches of another version are not used"""
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32


class Reader(Protocol):
    """Reads images and class names of one version of the files."""

    def images(self, file: IO[bytes], title: str) -> tuple[Images, Labels]: ...

    def names(self, file: IO[bytes], title: str) -> list[str]: ...


@dataclass(frozen=True)
class Version:
    """One of the official archives."""

    archive: str
    folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    names: str
    reader: Reader


@dataclass(frozen=True)
class Variant:
    """CIFAR-10 or CIFAR-100."""

    name: str
    title: str
    tasks: int
    class_names: tuple[str, ...]
    """used if the files have none"""
    versions: tuple[Version, ...]


@dataclass(frozen=True)
class Cifar:
    """The files of one variant, in the official order."""

    variant: Variant
    version: Version
    files: UnpackedFolder | TarArchive

    @property
    def name(self) -> str:
        return self.variant.name

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files whose official checksums are known."""
        if isinstance(self.files, TarArchive):
            return (self.files.path,)
        return tuple(self.files.path / name for name in self.version.train + self.version.test)

    def fingerprint(self) -> dict[str, Any]:
        needed = self.version.train + self.version.test
        files = self.files.stamp(needed, self.version.names)
        return {"rules": RULES, "version": self.version.folder, "files": files}

    def layout(self) -> Layout:
        train, test = (self.sizes[split] for split in SPLITS)
        return Layout(SHAPE, train, test, self.variant.tasks, self.class_names())

    @cached_property
    def sizes(self) -> dict[Split, int]:
        return {split: sum(len(y) for _, y in self.images(split)) for split in SPLITS}

    def images(self, split: Split) -> Iterator[tuple[Images, Labels]]:
        for name in getattr(self.version, split):
            title = self.files.title(name)
            with self.files.open(name) as file:
                x, y = self.version.reader.images(file, title)
            if not len(x):
                raise UserError(f"{title} is empty: use the official file")
            yield x.reshape(-1, *SHAPE), y

    def class_names(self) -> tuple[str, ...]:
        """The class names in the files, else the usual ones."""
        if not self.files.has(self.version.names):
            return self.variant.class_names
        title = self.files.title(self.version.names)
        with self.files.open(self.version.names) as file:
            names = self.version.reader.names(file, title)
        if len(names) != (wanted := len(self.variant.class_names)):
            raise UserError(f"{title} names {len(names)} classes instead of {wanted}")
        return tuple(names)


@dataclass(frozen=True)
class Pickled:
    """The Python version: dicts, pickled by Python 2 or 3."""

    labels: str
    label_names: str

    def images(self, file: IO[bytes], title: str) -> tuple[Images, Labels]:
        content = entries(file, title)
        x = content.get("data")
        if not isinstance(x, np.ndarray) or x.dtype != np.uint8 or x.shape[1:] != (PIXELS,):
            raise UserError(f"{title} holds no images of {PIXELS} bytes: use the official file")
        try:
            y = unpickle.integers(content.get(self.labels))
        except ValueError:
            y = np.empty(0, np.int64)
        if y.shape != x.shape[:1]:
            raise UserError(f"{title} holds no {self.labels!r} for its {len(x)} images")
        return x, y

    def names(self, file: IO[bytes], title: str) -> list[str]:
        names = entries(file, title).get(self.label_names)
        if not isinstance(names, list) or not all(isinstance(name, str | bytes) for name in names):
            raise UserError(f"{title} holds no {self.label_names!r}: use the official file")
        return [unpickle.text(name) for name in names]


def entries(file: IO[bytes], title: str) -> dict[str, Any]:
    """The dict in a pickle, with text keys."""
    content = unpickle.named(unpickle.load(file, title))
    if content is None:
        raise UserError(f"{title} holds no dict: use the official file")
    return content


@dataclass(frozen=True)
class Binary:
    """The binary version: a record is one or two labels, the last the finest, and the pixels."""

    labels: int

    def images(self, file: IO[bytes], title: str) -> tuple[Images, Labels]:
        raw, record = file.read(), self.labels + PIXELS
        if len(raw) % record:
            raise UserError(f"{title} is truncated or no binary CIFAR file: use another copy")
        table = np.frombuffer(raw, np.uint8).reshape(-1, record)
        return table[:, self.labels :], table[:, self.labels - 1].astype(np.int64)

    def names(self, file: IO[bytes], title: str) -> list[str]:
        return file.read().decode("latin1").split()


def find(variant: Variant, place: Path) -> Cifar:
    """The files in a place or in its subfolder of that name."""
    try:
        for spot in (place, place / variant.name):
            for version in variant.versions:
                if files := present(version, spot):
                    return Cifar(variant, version, files)
    except OSError as error:
        raise UserError(f"cannot read {error.filename or place}: {reason(error)}") from error
    raise UserError(
        f"{variant.title} is not in {place}: put {variant.versions[0].archive} there, "
        f"or try `bison-ocl data fetch {variant.name}`"
    )


def present(version: Version, spot: Path) -> UnpackedFolder | TarArchive | None:
    """A version of the files: its archive, its unpacked folder, or that folder's contents."""
    if spot.is_file():
        return TarArchive(spot, version.folder) if spot.name == version.archive else None
    if (spot / version.archive).is_file():
        return TarArchive(spot / version.archive, version.folder)
    for folder in (spot / version.folder, spot):
        if any((folder / name).is_file() for name in version.train + version.test):
            return UnpackedFolder(folder)
    return None

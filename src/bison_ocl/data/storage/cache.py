"""Cache of a decoded dataset: byte arrays that later uses map into memory.

DATA/cache/NAME-DIGEST/ holds four arrays and cache.json. It is built in a hidden folder, made
durable and renamed. The digest is that of the fingerprint: changed files get a new cache. The cache
may be deleted at any time.

cache.json holds the SHA-256 of every array file and of itself. They are verified once per process,
because a record vouches for the images. A cache that is damaged, or that an earlier version wrote
without its own checksum, is rebuilt.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.data.reading.budget import open_regular, read_regular
from bison_ocl.data.sources.source import SPLITS, Labels, Layout, Source, Split, chunks, reading
from bison_ocl.errors import UserError, reason
from bison_ocl.files.durable import durable, sync_folder
from bison_ocl.files.lock import locked

FORMAT = 1
ARRAYS = tuple(f"{split}_{what}" for split in SPLITS for what in "xy")
MOST = 1 << 40
"""bytes of an array, which is mapped and not read into memory"""
MOST_ABOUT = 1 << 26
"""bytes of cache.json, mostly class names"""

Stamp = tuple[int, ...]
"""a value that changes with the file"""


def open_cached(source: Source, cache_dir: Path) -> Dataset:
    """The dataset of a source, decoded at the first use and verified once per process."""
    folder, digest = place_of(source, cache_dir)
    about = verified_description(folder, digest)
    if about is None:
        with writing(cache_dir), locked(cache_dir / f".{folder.name}.lock"):
            about = verified_description(folder, digest)
            if about is None:
                about = build(source, folder, digest)
    return opened(source.name, folder, about)


def place_of(source: Source, cache_dir: Path) -> tuple[Path, str]:
    """The cache folder of a source, and the digest of its fingerprint."""
    with reading(source):
        identity = {"format": FORMAT, "name": source.name, "source": source.fingerprint()}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    name = re.sub("[^A-Za-z0-9]+", "-", source.name)[-60:]
    return cache_dir / f"{name}-{digest[:16]}", digest


def verified_description(folder: Path, digest: str) -> dict[str, Any] | None:
    """The description of a cache, if it is complete and its checksums hold."""
    about = description(folder, digest)
    return about if about and not damaged(folder, about) else None


def description(folder: Path, digest: str) -> dict[str, Any] | None:
    """The description of a cache, if it is complete and belongs to this source."""
    try:
        about: dict[str, Any] = json.loads(read_regular(folder / "cache.json", MOST_ABOUT))
        sizes = {name: (folder / f"{name}.npy").stat().st_size for name in ARRAYS}
        stated = about.pop("about_sha256"), about["digest"], about["sizes"]
        return about if stated == (seal(about), digest, sizes) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def seal(about: dict[str, Any]) -> str:
    """The checksum of a cache's description."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def damaged(folder: Path, about: dict[str, Any]) -> str | None:
    """The first array that is unreadable or fails its checksum."""
    for name in ARRAYS:
        path = folder / f"{name}.npy"
        try:
            if file_sum(path, stamp(path)) != about["sha256"][name]:
                return name
        except (OSError, UserError, KeyError, TypeError):
            return name
    return None


@cache
def file_sum(path: Path, stamp: Stamp) -> str:
    """The SHA-256 of a file; it is read once per process unless it changes."""
    with open_regular(path, MOST) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(path: Path) -> Stamp:
    about = path.stat()
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns


def opened(name: str, folder: Path, about: dict[str, Any]) -> Dataset:
    """Map the images into memory, copy on write."""
    try:
        layout, sums = Layout(**about["layout"]), about["sha256"]
        arrays = {each: torch.from_numpy(mapped(folder, each, layout)) for each in ARRAYS}
        train, test = (Batch(arrays[f"{split}_x"], arrays[f"{split}_y"]) for split in SPLITS)
        names = tuple(layout.class_names)
        classes, tasks = len(names), layout.tasks
        return Dataset(name, train, test, classes, tasks, names, sums["test"], sums["train"])
    # With valid checksums a forged header can still raise almost any exception.
    except Exception as error:
        raise UserError(f"cannot read the cache {folder}: remove it to rebuild it") from error


def mapped(folder: Path, name: str, layout: Layout) -> NDArray[Any]:
    """One array, refused if type, shape or labels do not match the layout."""
    array: NDArray[Any] = np.lib.format.open_memmap(folder / f"{name}.npy", mode="c")
    count, images = getattr(layout, name[:-2]), name.endswith("x")
    kind, shape = ("uint8", (count, *layout.shape)) if images else ("int64", (count,))
    if array.dtype != kind or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype} {array.shape}")
    if not images and not 0 <= array.min() <= array.max() < len(layout.class_names):
        raise ValueError(f"{name} holds labels of no class")
    return array


@contextmanager
def writing(cache_dir: Path) -> Iterator[None]:
    """Turn write errors into one line."""
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        why = "the disk is full" if full else reason(error)
        raise UserError(
            f"cannot write the cache in {cache_dir}: {why}; "
            "free space, or set BISON_OCL_CACHE to another folder"
        ) from error


def build(source: Source, folder: Path, digest: str) -> dict[str, Any]:
    """Decode a source into a hidden folder and rename it into place."""
    partial = folder.with_name(f".{folder.name}.partial")
    for leftover in (partial, folder):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        partial.mkdir()
        about = {"digest": digest, **decode(source, partial)}
        sealed = {**about, "about_sha256": seal(about)}
        with durable(partial / "cache.json") as file:
            file.write(json.dumps(sealed, indent=1).encode())
        sync_folder(partial)
        partial.rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return about


def decode(source: Source, folder: Path) -> dict[str, Any]:
    """Write the four arrays and return their description."""
    with reading(source):
        layout, fingerprint = source.layout(), source.fingerprint()
    sums: dict[str, str] = {}
    for split in SPLITS:
        sums |= write_split(source, layout, split, folder)
    return {
        "fingerprint": fingerprint,
        "layout": asdict(layout),
        "sizes": {name: (folder / f"{name}.npy").stat().st_size for name in ARRAYS},
        "sha256": sums,
    }


def write_split(source: Source, layout: Layout, split: Split, folder: Path) -> dict[str, str]:
    """Write the images of a split as they are decoded, then the labels; return checksums."""
    labels: list[Labels] = []
    content = hashlib.sha256()

    def images() -> Iterator[bytes | memoryview]:
        for x, y in chunks(source, layout, split):
            content.update(x.data)
            labels.append(y)
            yield x.data

    count = getattr(layout, split)
    x_sum = write_array(folder / f"{split}_x.npy", "|u1", (count, *layout.shape), images())
    y_bytes = np.concatenate(labels).astype("<i8").tobytes()
    y_sum = write_array(folder / f"{split}_y.npy", "<i8", (count,), [y_bytes])
    content.update(y_bytes)
    return {f"{split}_x": x_sum, f"{split}_y": y_sum, split: content.hexdigest()}


def write_array(
    path: Path, kind: str, shape: tuple[int, ...], parts: Iterable[bytes | memoryview]
) -> str:
    """Write a .npy file and return its SHA-256. A memory map would crash on a full disk."""
    header = BytesIO()
    about = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    total = hashlib.sha256()
    with durable(path) as file:
        for part in chain([header.getvalue()], parts):
            file.write(part)
            total.update(part)
    return total.hexdigest()


def state_of_cache(source: Source, cache_dir: Path) -> str:
    """One line on whether a cache exists and its checksums hold."""
    folder, digest = place_of(source, cache_dir)
    about = description(folder, digest)
    if about is None:
        return f"{'incomplete' if folder.exists() else 'none'}; the next run builds it"
    if name := damaged(folder, about):
        raise UserError(
            f"the cache {folder} is damaged ({name}): remove it, or let the next run rebuild it"
        )
    return f"{folder} is complete"

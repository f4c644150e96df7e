"""A dataset decoded once: byte arrays that later uses map into memory.

DATA/cache/NAME-DIGEST/ holds four arrays and cache.json. It is built in a hidden folder beside,
made durable and renamed, so what has the right name is whole. The digest is the fingerprint's:
when the files change, another cache is built. The cache may be deleted at any time.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.data.source import SPLITS, Labels, Layout, Source, Split, chunks, reading
from bison_ocl.durable import durable, sync_folder
from bison_ocl.errors import UserError, reason
from bison_ocl.lock import locked

FORMAT = 1
ARRAYS = tuple(f"{split}_{what}" for split in SPLITS for what in "xy")


def open_cached(source: Source, cache_dir: Path) -> Dataset:
    """The dataset of a source; the first use decodes it, later ones take under a second."""
    folder, digest = place_of(source, cache_dir)
    about = whole(folder, digest)
    if about is None:
        with writing(cache_dir), locked(cache_dir / f".{folder.name}.lock"):
            about = whole(folder, digest)
            if about is None:
                about = build(source, folder, digest)
    return opened(source.name, folder, about)


def place_of(source: Source, cache_dir: Path) -> tuple[Path, str]:
    """Where the cache of a source lies, and the digest of its fingerprint."""
    with reading(source):
        identity = {"format": FORMAT, "name": source.name, "source": source.fingerprint()}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    name = re.sub("[^A-Za-z0-9]+", "-", source.name)[-60:]
    return cache_dir / f"{name}-{digest[:16]}", digest


def whole(folder: Path, digest: str) -> dict[str, Any] | None:
    """What a cache says of itself, if it is this source's and nothing of it is missing."""
    try:
        about: dict[str, Any] = json.loads((folder / "cache.json").read_bytes())
        sizes = {name: (folder / f"{name}.npy").stat().st_size for name in ARRAYS}
        return about if (about["digest"], about["sizes"]) == (digest, sizes) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def opened(name: str, folder: Path, about: dict[str, Any]) -> Dataset:
    """Map the images into memory, copy on write; no image is read yet."""
    layout = Layout(**about["layout"])
    try:
        arrays = {each: np.load(folder / f"{each}.npy", mmap_mode="c") for each in ARRAYS}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read the cache {folder}: remove it, it is made again") from error
    train, test = (
        Batch(torch.from_numpy(arrays[f"{split}_x"]), torch.from_numpy(arrays[f"{split}_y"]))
        for split in SPLITS
    )
    names, sums = tuple(layout.class_names), about["sha256"]
    classes, tasks = len(names), layout.tasks
    return Dataset(name, train, test, classes, tasks, names, sums["test"], sums["train"])


@contextmanager
def writing(cache_dir: Path) -> Iterator[None]:
    """Say in one line why a cache could not be written."""
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        why = "the disk is full" if full else reason(error)
        raise UserError(
            f"cannot write the cache in {cache_dir}: {why}; "
            "free it, or set BISON_OCL_CACHE to a folder with room"
        ) from error


def build(source: Source, folder: Path, digest: str) -> dict[str, Any]:
    """Decode a source into a hidden folder and rename it into place."""
    partial = folder.with_name(f".{folder.name}.partial")
    for leftover in (partial, folder):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        partial.mkdir()
        about = {"digest": digest, **decode(source, partial)}
        with durable(partial / "cache.json") as file:
            file.write(json.dumps(about, indent=1).encode())
        sync_folder(partial)
        partial.rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return about


def decode(source: Source, folder: Path) -> dict[str, Any]:
    """Write the four arrays; what there is to say of them."""
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
    """Write the images of a split as they are decoded, then the labels; their checksums."""
    labels: list[Labels] = []
    total = hashlib.sha256()
    with durable(folder / f"{split}_x.npy") as file:
        write_header(file, "|u1", (getattr(layout, split), *layout.shape))
        for x, y in chunks(source, layout, split):
            file.write(x.data)
            total.update(x.data)
            labels.append(y)
    y_bytes = np.concatenate(labels).astype("<i8").tobytes()
    with durable(folder / f"{split}_y.npy") as file:
        write_header(file, "<i8", (getattr(layout, split),))
        file.write(y_bytes)
    sums = {f"{split}_x": total.hexdigest(), f"{split}_y": hashlib.sha256(y_bytes).hexdigest()}
    total.update(y_bytes)
    return {**sums, split: total.hexdigest()}


def write_header(file: IO[bytes], kind: str, shape: tuple[int, ...]) -> None:
    """Begin a .npy file. A memory map would end a process whose disk is full; writes raise."""
    about = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def state_of_cache(source: Source, cache_dir: Path) -> str:
    """One line: whether there is a cache of this source, and whether its checksums hold."""
    folder, digest = place_of(source, cache_dir)
    about = whole(folder, digest)
    if about is None:
        return f"{'cut off' if folder.exists() else 'none'}; the next run makes it"
    for name in ARRAYS:
        array = np.load(folder / f"{name}.npy", mmap_mode="r")
        if hashlib.sha256(array.data).hexdigest() != about["sha256"][name]:
            raise UserError(f"the cache {folder} is damaged ({name}): remove it, it is made again")
    return f"{folder} is whole"

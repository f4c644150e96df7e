"""Tiny datasets in every official form of CIFAR, made by the tests themselves."""

from __future__ import annotations

import io
import pickle
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMS = ("python 2", "python 3", "protocol 5", "binary")
PACKINGS = ("folder", "archive")


@dataclass(frozen=True)
class Made:
    """What was put into the files, in their order."""

    train_x: NDArray[np.uint8]
    train_y: list[int]
    test_x: NDArray[np.uint8]
    test_y: list[int]


def made(classes: int, train: int, test: int, seed: int = 0) -> Made:
    """Random images, `train` and `test` of each class, in random order."""
    draw = np.random.default_rng(seed)

    def split(each: int) -> tuple[NDArray[np.uint8], list[int]]:
        labels = draw.permutation(np.repeat(np.arange(classes), each)).tolist()
        return draw.integers(0, 256, (len(labels), 3072), dtype=np.uint8), labels

    return Made(*split(train), *split(test))


def python_2(value: Any) -> bytes:
    """A pickle as cPickle of Python 2.7 writes it (protocol 2), opcode by opcode."""
    return b"\x80\x02" + old(value) + b"."


def old(value: Any) -> bytes:
    """One value; a text is a byte string there."""
    if isinstance(value, dict):
        items = b"".join(old(key) + old(item) for key, item in value.items())
        return b"}(" + items + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(old(item) for item in value) + b"e"
    if isinstance(value, str | bytes):
        raw = value.encode() if isinstance(value, str) else value
        return b"T" + len(raw).to_bytes(4, "little") + raw
    if isinstance(value, int):
        return b"J" + value.to_bytes(4, "little", signed=True)
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.uint8
    shape = b"".join(old(int(side)) for side in value.shape)
    kind = b"cnumpy\ndtype\n(" + old("u1") + b"K\x00K\x01tR"
    kind += b"(K\x03" + old("|") + b"NNN" + old(-1) + old(-1) + b"K\x00tb"
    start = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + old("b") + b"tR"
    return start + b"(K\x01(" + shape + b"t" + kind + b"I00\n" + old(value.tobytes()) + b"tb"


def pickled(content: dict[str, Any], form: str) -> bytes:
    if form == "python 2":
        return python_2(content)
    return pickle.dumps(content, protocol=2 if form == "python 3" else 5)


def cifar10_files(data: Made, form: str) -> tuple[str, dict[str, bytes]]:
    """Folder and files of CIFAR-10."""
    parts = np.array_split(np.arange(len(data.train_y)), 5)
    batches = {
        f"data_batch_{number + 1}": (data.train_x[part], [data.train_y[i] for i in part])
        for number, part in enumerate(parts)
    } | {"test_batch": (data.test_x, data.test_y)}
    names = [f"kind{number}" for number in range(10)]
    if form == "binary":
        files = {f"{name}.bin": records(x, [y]) for name, (x, y) in batches.items()}
        return "cifar-10-batches-bin", {
            **files,
            "batches.meta.txt": "\n".join([*names, ""]).encode(),
            "readme.html": b"<p>",
        }
    files = {
        name: pickled({"batch_label": name, "labels": y, "data": x, "filenames": ["a.png"]}, form)
        for name, (x, y) in batches.items()
    }
    return "cifar-10-batches-py", {
        "batches.meta": pickled({"num_vis": 3072, "label_names": names}, form),
        **dict(reversed(files.items())),
    }


def cifar100_files(data: Made, form: str) -> tuple[str, dict[str, bytes]]:
    """Folder and files of CIFAR-100; the coarse labels must not be mistaken for the fine ones."""
    splits = {"train": (data.train_x, data.train_y), "test": (data.test_x, data.test_y)}
    names = [f"fine{number}" for number in range(100)]
    if form == "binary":
        files = {
            f"{name}.bin": records(x, [[label // 5 for label in y], y])
            for name, (x, y) in splits.items()
        }
        text = "\n".join(names).encode()
        return "cifar-100-binary", {**files, "fine_label_names.txt": text}
    files = {
        name: pickled({"coarse_labels": [0] * len(y), "fine_labels": y, "data": x}, form)
        for name, (x, y) in splits.items()
    }
    return "cifar-100-python", {**files, "meta": pickled({"fine_label_names": names}, form)}


def records(x: NDArray[np.uint8], labels: list[list[int]]) -> bytes:
    columns = [np.array(each, dtype=np.uint8)[:, None] for each in labels]
    return np.hstack([*columns, x]).tobytes()


def archive_name(folder: str) -> str:
    number = "100" if "100" in folder else "10"
    return f"cifar-{number}-{'binary' if 'bin' in folder else 'python'}.tar.gz"


def put(place: Path, folder: str, files: dict[str, bytes], packing: str) -> Path:
    """Write the files into a place, unpacked or packed."""
    place.mkdir(parents=True, exist_ok=True)
    if packing == "folder":
        (place / folder).mkdir()
        for name, content in files.items():
            (place / folder / name).write_bytes(content)
        return place / folder
    path = place / archive_name(folder)
    pack(path, {f"{folder}/{name}": content for name, content in files.items()}, folder)
    return path


def pack(path: Path, files: dict[str, bytes], folder: str = "") -> None:
    """A .tar.gz of these members."""
    with tarfile.open(path, "w:gz") as tar:
        if folder:
            entry = tarfile.TarInfo(folder)
            entry.type = tarfile.DIRTYPE
            tar.addfile(entry)
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))

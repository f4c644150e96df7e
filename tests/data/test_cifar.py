"""CIFAR from every official form gives the same images; broken files end in one line."""

from __future__ import annotations

import gzip
import io
import os
import resource
import tarfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bison_ocl import data as datasets
from bison_ocl.data.reading import contents
from bison_ocl.data.sources.source import SPLITS, Split, chunks
from bison_ocl.errors import UserError
from tests.data.little_memory import little_memory
from tests.data.mutations import mutations, read_or_refused
from tests.data.official_files import (
    FORMS,
    PACKINGS,
    Made,
    archive_name,
    cifar10_files,
    cifar100_files,
    made,
    pack,
    pickled,
    put,
    python_2,
)

TEN = made(classes=10, train=3, test=2)
HUNDRED = made(classes=100, train=1, test=1)
MAKERS = {
    "split-cifar10": (TEN, cifar10_files, "kind"),
    "split-cifar100": (HUNDRED, cifar100_files, "fine"),
}


def read(name: str, place: Path) -> dict[str, Any]:
    """All images and labels of a dataset, straight from its files."""
    source = datasets.source_of(name, place)
    layout = source.layout()
    return {split: together(list(chunks(source, layout, split))) for split in SPLITS}


def together(parts: list[Any]) -> tuple[Any, list[int]]:
    x, y = zip(*parts, strict=True)
    return np.concatenate(x), np.concatenate(y).tolist()


def expect(found: dict[str, Any], data: Made) -> None:
    for split, x, y in (("train", data.train_x, data.train_y), ("test", data.test_x, data.test_y)):
        assert found[split][1] == y
        assert np.array_equal(found[split][0].reshape(len(y), 3072), x)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packing", PACKINGS)
def test_every_official_form_gives_the_images_in_order(
    name: str, form: str, packing: str, tmp_path: Path
) -> None:
    data, maker, word = MAKERS[name]
    put(tmp_path, *maker(data, form), packing)
    expect(read(name, tmp_path), data)
    layout = datasets.source_of(name, tmp_path).layout()
    assert layout.shape == (3, 32, 32)
    assert layout.class_names[:2] == (f"{word}0", f"{word}1")
    assert layout.tasks == (5 if name == "split-cifar10" else 10)


@pytest.mark.parametrize("packing", PACKINGS)
def test_files_are_found_in_a_folder_of_the_datasets_name_and_when_given_themselves(
    packing: str, tmp_path: Path
) -> None:
    path = put(tmp_path / "split-cifar10", *cifar10_files(TEN, "python 3"), packing)
    for place in (tmp_path, tmp_path / "split-cifar10", path):
        expect(read("split-cifar10", place), TEN)


def test_both_datasets_share_a_data_folder_without_mixing(tmp_path: Path) -> None:
    for maker, data in ((cifar10_files, TEN), (cifar100_files, HUNDRED)):
        put(tmp_path, *maker(data, "binary"), "folder")
        put(tmp_path, *maker(data, "binary"), "archive")
    expect(read("split-cifar10", tmp_path), TEN)
    expect(read("split-cifar100", tmp_path), HUNDRED)


def test_a_cache_is_of_all_files_that_are_read(tmp_path: Path) -> None:
    folder = put(tmp_path, *cifar10_files(TEN, "python 3"), "folder")
    images = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]

    def fingerprint() -> str:
        return repr(datasets.source_of("split-cifar10", tmp_path).fingerprint())

    found = {fingerprint()}
    for name in (*images, "batches.meta"):
        os.utime(folder / name, (0, 0))
        found.add(fingerprint())
    (folder / "batches.meta").unlink()
    assert len({*found, fingerprint()}) == 9


def test_only_images_and_fine_labels_are_required(tmp_path: Path) -> None:
    contents = {
        "train": (HUNDRED.train_x, HUNDRED.train_y),
        "test": (HUNDRED.test_x, HUNDRED.test_y),
    }
    files = {
        name: pickled({"data": x, "fine_labels": np.array(y)}, "python 3")  # an array of labels too
        for name, (x, y) in contents.items()
    }
    put(tmp_path, "cifar-100-python", files, "folder")
    expect(read("split-cifar100", tmp_path), HUNDRED)
    assert datasets.source_of("split-cifar100", tmp_path).layout().class_names[7] == "7"


def test_cifar_10_has_its_names_without_the_meta_file(tmp_path: Path) -> None:
    folder, files = cifar10_files(TEN, "python 3")
    del files["batches.meta"]
    put(tmp_path, folder, files, "archive")
    names = datasets.source_of("split-cifar10", tmp_path).layout().class_names
    assert (names[0], names[3], names[9]) == ("airplane", "cat", "truck")


def test_a_missing_dataset_is_answered_with_what_to_put_where(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UserError, match=r"CIFAR-10 is not in .* put cifar-10-python.tar.gz"):
            datasets.source_of("split-cifar10", place)


def refused(name: str, place: Path, match: str) -> None:
    """Reading fails with one line."""
    with pytest.raises(UserError, match=match) as caught:
        read(name, place)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_a_truncated_archive_is_named(share: float, tmp_path: Path) -> None:
    path = put(tmp_path, *cifar10_files(TEN, "python 3"), "archive")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    refused("split-cifar10", tmp_path, r"cifar-10-python.tar.gz is truncated or damaged")


def test_a_changed_byte_of_an_archive_is_noticed(tmp_path: Path) -> None:
    path = put(tmp_path, *cifar10_files(TEN, "binary"), "archive")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refused("split-cifar10", tmp_path, "is truncated or damaged")


def test_a_full_disk_while_decompressing_is_said_in_one_line(tmp_path: Path) -> None:
    put(tmp_path, *cifar10_files(TEN, "binary"), "archive")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        refused("split-cifar10", tmp_path, r"no space to decompress .*set TMPDIR")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"<html>404</html>")
    refused("split-cifar10", tmp_path, "is truncated or damaged")


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/absolute",
        "cifar-10-batches-py/../../outside",
        "elsewhere/data_batch_1",
        "data_batch_1",
    ],
)
def test_members_outside_the_folder_are_refused(name: str, tmp_path: Path) -> None:
    folder, files = cifar10_files(TEN, "python 3")
    members = {f"{folder}/{file}": content for file, content in files.items()}
    pack(tmp_path / archive_name(folder), {**members, name: b"x"}, folder)
    refused("split-cifar10", tmp_path, "is not a file in cifar-10-batches-py/")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(kind: bytes, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "cifar-10-python.tar.gz", "w:gz") as tar:
        entry = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
        entry.type, entry.linkname = kind, "/etc/passwd"
        tar.addfile(entry)
    refused("split-cifar10", tmp_path, "is not a file in cifar-10-batches-py/")


def header(**fields: Any) -> bytes:
    """One header of an archive, for which no content follows."""
    entry = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
    for name, value in fields.items():
        setattr(entry, name, value)
    return entry.tobuf(tarfile.GNU_FORMAT)


def extended(text: bytes) -> bytes:
    """An extended header, which speaks of the next member."""
    entry = tarfile.TarInfo("pax")
    entry.type, entry.size = tarfile.XHDTYPE, len(text)
    return entry.tobuf(tarfile.GNU_FORMAT) + text.ljust(-(-len(text) // 512) * 512, b"\0")


END = bytes(1024)
BOMBS = {
    "sparse": (header(type=tarfile.GNUTYPE_SPARSE, size=7 << 30) + END, "truncated or damaged"),
    "sparse, whole": (header(type=tarfile.GNUTYPE_SPARSE) + END, "is not a file in"),
    "sparse by name": (extended(b"22 GNU.sparse.major=1\n") + header() + END, "damaged"),
    "larger than the archive": (header(size=1 << 40) + END, "truncated or damaged"),
    "negative": (header(size=-1024) + END, "truncated or damaged"),
    "negative, extended": (extended(b"14 size=-1024\n") + header() + END, "truncated or damaged"),
    "long extended header": (extended(b"1" * 100_000) + END, "truncated or damaged"),
    "members": (header() * 10_001 + END, "truncated or damaged"),
    "zeros": (bytes(1 << 26), "unpacks to more than 8,388,608 bytes"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_archive_cannot_take_much_time_memory_or_disk(
    bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MOST", 1 << 23)
    content, match = BOMBS[bomb]
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(gzip.compress(content))
    start = time.process_time()
    with little_memory():
        refused("split-cifar10", tmp_path, match)
    assert time.process_time() - start < 5


def test_times_in_an_extended_header_do_not_matter(tmp_path: Path) -> None:
    path = put(tmp_path, *cifar10_files(TEN, "python 3"), "archive")
    plain = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(extended(b"16 mtime=1.25\n") + plain))
    expect(read("split-cifar10", tmp_path), TEN)


def test_a_pipe_or_a_huge_file_in_place_of_the_images_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(tmp_path, *cifar10_files(TEN, "binary"), "folder")
    monkeypatch.setattr(contents, "MOST", 1000)
    refused("split-cifar10", tmp_path, "bytes: expected at most 1,000")
    (folder / "data_batch_1.bin").unlink()
    os.mkfifo(folder / "data_batch_1.bin")
    refused("split-cifar10", tmp_path, "data_batch_1.bin is missing")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packing", ["folder", "tar", "tar.gz"])
def test_any_damage_ends_in_images_or_in_one_line(form: str, packing: str, tmp_path: Path) -> None:
    """Unpacked files have no checksum: what is read from them must have the right shape only."""
    kind = "folder" if packing == "folder" else "archive"
    path = put(tmp_path, *cifar10_files(TEN, form), kind)
    path = path / next(path.glob("test_batch*")).name if packing == "folder" else path
    whole = path.read_bytes()
    damaged = mutations(gzip.decompress(whole) if packing == "tar" else whole, seed=1, count=40)
    with little_memory():
        for content in damaged:
            path.write_bytes(gzip.compress(content, 1) if packing == "tar" else content)
            got = read_or_refused(partial(read, "split-cifar10", tmp_path))
            if got and packing == "tar.gz":
                expect(got, TEN)


def test_a_malicious_pickle_in_an_archive_runs_nothing(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    folder, files = cifar10_files(TEN, "python 3")
    files["data_batch_2"] = b"cos\nsystem\n(S'touch " + bytes(trap) + b"'\ntR."
    put(tmp_path, folder, files, "archive")
    refused("split-cifar10", tmp_path, r"refused to read .*data_batch_2.*os.system")
    assert not trap.exists()


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("form", ["python 3", "binary"])
def test_missing_and_empty_files_are_named(form: str, packing: str, tmp_path: Path) -> None:
    folder, files = cifar10_files(TEN, form)
    third = next(name for name in files if name.startswith("data_batch_3"))
    put(tmp_path / "empty", folder, {**files, third: b""}, packing)
    refused("split-cifar10", tmp_path / "empty", f"{third} is (empty|truncated)")
    del files[third]
    put(tmp_path / "missing", folder, files, packing)
    refused("split-cifar10", tmp_path / "missing", f"{third} is missing")
    with pytest.raises(UserError, match=f"{third} is missing"):
        datasets.load("split-cifar10", tmp_path / "missing")


BROKEN = [
    ({"data": TEN.test_x}, "holds no 'labels'"),
    ({"labels": TEN.test_y}, "holds no images"),
    ({"labels": TEN.test_y[1:], "data": TEN.test_x}, "holds no 'labels' for its 20 images"),
    ({"labels": ["a"] * 20, "data": TEN.test_x}, "holds no 'labels'"),
    ({"labels": [[1], [2, 3]], "data": TEN.test_x}, "holds no 'labels'"),
    ({"labels": [2**70] * 20, "data": TEN.test_x}, "holds no 'labels'"),
    ({"labels": ["a" * 100_000] + ["a"] * 100_000, "data": TEN.test_x}, "holds no 'labels'"),
    ({"labels": TEN.test_y, "data": TEN.test_x[:, 1:]}, "holds no images of 3072 bytes"),
    ({"labels": TEN.test_y, "data": TEN.test_x.astype(np.float32)}, "holds no images"),
    ({"labels": [-1, *TEN.test_y[1:]], "data": TEN.test_x}, "test label -1 is not one of the 10"),
    ({"labels": [10, *TEN.test_y[1:]], "data": TEN.test_x}, "test label 10 is not one of the 10"),
    ({"labels": [0] * 20, "data": TEN.test_x}, "class 'kind1' has no test image"),
]


@pytest.mark.parametrize(("content", "match"), BROKEN)
def test_wrong_contents_end_in_one_line(
    content: dict[str, Any], match: str, tmp_path: Path
) -> None:
    folder, files = cifar10_files(TEN, "python 3")
    put(tmp_path, folder, {**files, "test_batch": pickled(content, "python 3")}, "folder")
    refused("split-cifar10", tmp_path, match)


@pytest.mark.parametrize(
    ("meta", "match"),
    [
        (python_2({"label_names": ["a", "b"]}), "names 2 classes instead of 10"),
        (python_2({"other": 1}), "holds no 'label_names'"),
        (python_2([1]), "holds no dict"),
        (b"", "is truncated"),
    ],
)
def test_wrong_class_names_end_in_one_line(meta: bytes, match: str, tmp_path: Path) -> None:
    folder, files = cifar10_files(TEN, "python 3")
    put(tmp_path, folder, {**files, "batches.meta": meta}, "folder")
    refused("split-cifar10", tmp_path, match)


def test_a_cut_binary_file_is_named(tmp_path: Path) -> None:
    folder, files = cifar10_files(TEN, "binary")
    put(tmp_path, folder, {**files, "test_batch.bin": files["test_batch.bin"][:-1]}, "folder")
    refused("split-cifar10", tmp_path, "test_batch.bin is truncated")


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, *cifar10_files(TEN, "binary"), "folder")

    def denied(*_: Any, **__: Any) -> io.BytesIO:
        raise PermissionError(13, "Permission denied", "data_batch_1.bin")

    source = datasets.source_of("split-cifar10", tmp_path)
    layout = source.layout()
    monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(UserError, match=r"cannot read data_batch_1.bin: Permission denied"):
        list(chunks(source, layout, "train"))


REAL = os.environ.get("BISON_OCL_DATA")
real = pytest.mark.skipif(not REAL, reason="BISON_OCL_DATA does not say where the real files are")


def there(name: str) -> Any:
    try:
        return datasets.source_of(name)
    except UserError as error:
        pytest.skip(str(error))


@real
@pytest.mark.parametrize(
    ("name", "train", "test"), [("split-cifar10", 5000, 1000), ("split-cifar100", 500, 100)]
)
def test_the_real_files_are_whole(name: str, train: int, test: int) -> None:
    source = there(name)
    layout = source.layout()
    assert (layout.train, layout.test) == (50_000, 10_000)
    counts: dict[Split, int] = {"train": train, "test": test}
    for split, each in counts.items():
        labels = [y for _, y in chunks(source, layout, split)]
        assert np.bincount(np.concatenate(labels)).tolist() == [each] * len(layout.class_names)


@real
def test_the_first_real_test_image_is_the_official_one() -> None:
    x, y = next(iter(there("split-cifar10").images("test")))
    assert x[0, :, 0, 0].tolist() == [158, 112, 49]
    assert y[0] == 3


@real
def test_real_data_opens_through_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there("split-cifar10")
    monkeypatch.setenv("BISON_OCL_CACHE", str(tmp_path))
    dataset = datasets.load("split-cifar10")
    assert torch.bincount(dataset.train.y).tolist() == [5000] * 10
    assert dataset.test.x[0, :, 0, 0].tolist() == [158, 112, 49]
    assert dataset.class_names[3] == "cat"

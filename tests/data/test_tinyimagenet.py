"""Tiny-ImageNet as a folder and as an archive, tiny, and broken in the usual ways."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bison_ocl import data as datasets
from bison_ocl.data.sources import tinyimagenet
from bison_ocl.data.sources.source import Source
from bison_ocl.data.sources.tinyimagenet import Benchmark
from bison_ocl.data.storage.cache import open_cached
from bison_ocl.errors import UserError
from tests.data.image_files import colour_of, everything, later, numbers, save, zipped

WNIDS = ("n03", "n01", "n02")
TINY = Benchmark(classes=3, train=3, test=2, side=8, tasks=3)


def made(root: Path) -> Path:
    """The official folder: the number of an image is 100 * class + its place, or + 50 in val."""
    lines = []
    for wnid in WNIDS:
        for image in range(3):
            colour = colour_of(100 * int(wnid[1:]) + image)
            save(root / "train" / wnid / "images" / f"{wnid}_{image}.JPEG", colour)
        (root / "train" / wnid / f"{wnid}_boxes.txt").write_text("boxes")
    for image in range(6):
        wnid = WNIDS[image % 3]
        colour = colour_of(100 * int(wnid[1:]) + 50 + image)
        save(root / "val" / "images" / f"val_{image}.JPEG", colour)
        lines.append(f"val_{image}.JPEG\t{wnid}\t0\t1\t2\t3\n")
    save(root / "test" / "images" / "test_0.JPEG")
    (root / "val" / "val_annotations.txt").write_text("".join(lines))
    (root / "wnids.txt").write_text("\n".join(WNIDS) + "\n")
    (root / "words.txt").write_text("n01\tcrane, bird\nn02\tcrane, machine\nn03\tape\nn04\tx\n")
    return root


def read(place: Path) -> Source:
    return tinyimagenet.source(place, TINY)


def check(source: Source) -> None:
    layout = source.layout()
    assert (layout.shape, layout.train, layout.test, layout.tasks) == ((3, 8, 8), 9, 6, 3)
    assert numbers(source, "train").tolist() == [100, 101, 102, 200, 201, 202, 300, 301, 302]
    assert numbers(source, "test").tolist() == [151, 154, 252, 255, 350, 353]
    assert everything(source, "test")[1].tolist() == [0, 0, 1, 1, 2, 2]


def test_the_official_folder(tmp_path: Path) -> None:
    made(tmp_path / "tiny-imagenet-200")
    check(source := read(tmp_path))
    assert source.layout().class_names == ("crane (n01)", "crane (n02)", "ape")
    check(read(tmp_path / "tiny-imagenet-200"))


def test_the_official_archive(tmp_path: Path) -> None:
    made(tmp_path / "made")
    archive = zipped(tmp_path / "made", tmp_path / "tiny-imagenet-200.zip", "tiny-imagenet-200/")
    check(source := read(tmp_path))
    assert source.paths == [archive]
    before = source.fingerprint()
    assert read(tmp_path).fingerprint() == before
    later(archive)
    assert read(tmp_path).fingerprint() != before


def test_a_cached_archive_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zipped(made(tmp_path / "made"), tmp_path / "tiny-imagenet-200.zip", "tiny-imagenet-200/")
    first = open_cached(read(tmp_path), tmp_path / "cache")
    monkeypatch.delattr(zipfile, "ZipFile")
    assert open_cached(read(tmp_path), tmp_path / "cache").test_sha256 == first.test_sha256


@pytest.mark.parametrize("inside", ["", "images"])
@pytest.mark.parametrize(
    "left_behind", [(), ("val_annotations.txt",), ("val_annotations.txt", "images")]
)
def test_validation_images_sorted_into_class_folders(
    tmp_path: Path, inside: str, left_behind: tuple[str, ...]
) -> None:
    root = made(tmp_path / "tiny-imagenet-200")
    for line in (root / "val" / "val_annotations.txt").read_text().splitlines():
        file, wnid, *_ = line.split("\t")
        (root / "val" / wnid / inside).mkdir(parents=True, exist_ok=True)
        (root / "val" / "images" / file).rename(root / "val" / wnid / inside / file)
    if "images" not in left_behind:
        (root / "val" / "images").rmdir()
    if "val_annotations.txt" not in left_behind:
        (root / "val" / "val_annotations.txt").unlink()
    check(read(tmp_path))


def test_without_words_the_classes_go_by_their_ids(tmp_path: Path) -> None:
    root = made(tmp_path / "tiny-imagenet-200")
    (root / "words.txt").unlink()
    (root / "wnids.txt").unlink()
    assert read(tmp_path).layout().class_names == ("n01", "n02", "n03")


def test_the_fingerprint_changes_with_the_files(tmp_path: Path) -> None:
    root = made(tmp_path / "tiny-imagenet-200")
    before = read(tmp_path).fingerprint()
    assert read(tmp_path).fingerprint() == before
    later(root / "val" / "images" / "val_0.JPEG")
    assert read(tmp_path).fingerprint() != before


def overwrite(name: str, content: str) -> Callable[[Path], object]:
    return lambda root: (root / name).write_text(content)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda root: shutil.rmtree(root / "train" / "n02"), r"/train: class n02 is missing"),
        (lambda root: save(root / "train" / "n09" / "a.png"), r"class n09 is not one of the 3"),
        (
            lambda root: (root / "train" / "n02" / "images" / "n02_1.JPEG").unlink(),
            r"/train: class n02 has 2 images, not 3",
        ),
        (lambda root: (root / "val/images/val_1.JPEG").unlink(), r"txt line 2 names .*val_1\.JPEG"),
        (overwrite("val/images/val_1.JPEG", ""), r"val_1\.JPEG is empty"),
        (overwrite("val/images/val_1.JPEG", "x"), r"val_1\.JPEG cannot be decoded"),
        (
            overwrite("val/val_annotations.txt", "val_1.JPEG n01"),
            r"line 1 is not `file, class, box`",
        ),
        (overwrite("val/val_annotations.txt", "val_1.JPEG\tn09\t0"), r"/val: class n01 .*missing"),
        (overwrite("val/val_annotations.txt", ""), r"/val: class n01 \(and 2 more\) is missing"),
        (overwrite("wnids.txt", "n01\nn02"), r"wnids\.txt has 2 classes, not 3"),
        (overwrite("train/n01/images/x.exe", "x"), r"x\.exe is not an image"),
        (lambda root: shutil.rmtree(root / "val"), r"/val: class n01 \(and 2 more\) is missing"),
    ],
)
def test_spoiled_folders_are_refused_in_one_line(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(made(tmp_path / "tiny-imagenet-200"))
    with pytest.raises(UserError, match=message) as caught:
        everything(read(tmp_path), "test")
    assert "\n" not in str(caught.value)


def test_a_cut_off_archive_is_named(tmp_path: Path) -> None:
    archive = zipped(made(tmp_path / "made"), tmp_path / "tiny-imagenet-200.zip", "t/")
    archive.write_bytes(archive.read_bytes()[:-1000])
    with pytest.raises(UserError, match=r"tiny-imagenet-200\.zip is not a complete zip archive"):
        open_cached(read(tmp_path), tmp_path / "cache")


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    archive = zipped(made(tmp_path / "made"), tmp_path / "tiny-imagenet-200.zip", "t/")
    content = bytearray(archive.read_bytes())
    content[content.index(b"IDAT", content.index(b"val_3.JPEG")) + 6] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(UserError, match=r"val/images/val_3\.JPEG cannot be unpacked \(Bad CRC"):
        everything(read(tmp_path), "test")


def test_a_folder_without_the_data_says_what_to_put_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"put tiny-imagenet-200\.zip .*looked in "):
        read(tmp_path)


def test_it_is_cached_and_opened(tmp_path: Path) -> None:
    made(tmp_path / "tiny-imagenet-200")
    first, second = (open_cached(read(tmp_path), tmp_path / "cache") for _ in range(2))
    assert first.train.x.shape == (9, 3, 8, 8)
    assert first.test_sha256 == second.test_sha256 != ""


def test_the_real_files() -> None:
    if not (place := os.environ.get("BISON_OCL_DATA")):
        pytest.skip("BISON_OCL_DATA does not say where the real files are")
    try:
        source = datasets.source_of("split-tinyimagenet", place)
    except UserError as error:
        pytest.skip(str(error))
    layout = source.layout()
    assert (layout.shape, layout.train, layout.test) == ((3, 64, 64), 100_000, 10_000)
    assert layout.class_names[0] == "goldfish"
    x, y = next(source.images("test"))
    assert 50 < x.mean() < 200
    assert y[:50].tolist() == [0] * 50

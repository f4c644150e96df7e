"""A person's own class folders, tidy and untidy."""

from __future__ import annotations

import io
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bison_ocl import data as datasets
from bison_ocl.data.reading import listing
from bison_ocl.data.sources import folder, pictures
from bison_ocl.data.sources.held_out import below, draw
from bison_ocl.data.sources.source import SPLITS
from bison_ocl.errors import UserError
from tests.data.image_files import (
    both_splits,
    colour_of,
    everything,
    later,
    numbers,
    save,
    zipped,
)
from tests.data.little_memory import little_memory
from tests.data.mutations import mutations, read_or_refused


def made(root: Path, classes: int = 4, each: int = 10) -> Path:
    """The number of an image is 100 * class + its place."""
    for label in range(classes):
        for image in range(each):
            save(root / f"class {label}" / f"{image}.png", colour_of(100 * label + image), side=12)
    return root


def test_every_image_is_used_once_and_a_share_is_held_out(tmp_path: Path) -> None:
    source = folder.source(made(tmp_path), image_size=8)
    layout = source.layout()
    assert layout.class_names == ("class 0", "class 1", "class 2", "class 3")
    assert (layout.shape, layout.train + layout.test, layout.tasks) == ((3, 8, 8), 40, 4)
    assert 4 <= layout.test <= 14
    every = [*numbers(source, "train"), *numbers(source, "test")]
    assert sorted(every) == [100 * label + image for label in range(4) for image in range(10)]
    for split in ("train", "test"):
        assert (everything(source, split)[1] == numbers(source, split) // 100).all()


def test_images_added_later_move_no_other(tmp_path: Path) -> None:
    made(tmp_path, each=20)
    before = {*numbers(folder.source(tmp_path), "test").tolist()}
    made(tmp_path, each=40)
    after = {*numbers(folder.source(tmp_path), "test").tolist()}
    assert {number for number in after if number % 100 < 20} == before


def test_the_draws_are_even_and_stay_as_they_are() -> None:
    draws = [draw(folder.RULE, "cat", f"{image}.png") for image in range(2000)]
    assert abs(np.mean(draws) - 0.5) < 0.03
    assert abs(np.mean(np.array(draws) < 0.2) - 0.2) < 0.03
    assert draws[0] == pytest.approx(0.3423904480529399)


@pytest.mark.parametrize("share", [1e-9, 1 - 1e-9])
def test_both_sides_keep_an_image(share: float) -> None:
    images = ["a", "b", "c"]
    assert len(below(folder.RULE, "cat", images, share)) == (1 if share < 0.5 else 2)


@pytest.mark.parametrize("part", ["test", "val"])
def test_a_given_split_is_used_as_given(tmp_path: Path, part: str) -> None:
    made(tmp_path / "train", each=3)
    made(tmp_path / part, each=2)
    (tmp_path / "notes").mkdir()
    layout = folder.source(tmp_path).layout()
    assert (layout.train, layout.test, len(layout.class_names)) == (12, 8, 4)


def test_a_given_split_takes_no_share(tmp_path: Path) -> None:
    made(tmp_path / "pets" / "train", each=3)
    made(tmp_path / "pets" / "test", each=2)
    archive = zipped(tmp_path / "pets", tmp_path / "pets.zip", "pets/")
    for place in (tmp_path / "pets", archive):
        with pytest.raises(UserError, match=r"held-out share 0\.5: .* has test images; leave out"):
            folder.source(place, held_out=0.5).layout()


def test_images_may_lie_deeper_and_untidy(tmp_path: Path) -> None:
    made(tmp_path)
    save(tmp_path / "class 0" / "2019" / "Été.PNG")
    (tmp_path / "class 0" / "labels.txt").write_text("x")
    (tmp_path / "class 0" / ".hidden.doc").write_text("x")
    (tmp_path / "readme.pdf").write_text("x")
    (tmp_path / ".cache").mkdir()
    layout = folder.source(tmp_path).layout()
    assert (layout.train + layout.test, len(layout.class_names)) == (41, 4)


def test_a_zip_archive_and_links(tmp_path: Path) -> None:
    made(tmp_path / "made")
    zipped(tmp_path / "made", tmp_path / "pets.zip", "")
    (tmp_path / "links").mkdir()
    for label in range(4):
        (tmp_path / "links" / f"class {label}").symlink_to(tmp_path / "made" / f"class {label}")
    wanted = numbers(folder.source(tmp_path / "made"), "test").tolist()
    for name in ("pets.zip", "links"):
        assert numbers(folder.source(tmp_path / name), "test").tolist() == wanted


@pytest.mark.parametrize(
    ("classes", "wanted", "tasks"),
    [
        (10, None, 5),
        (8, None, 4),
        (6, None, 3),
        (7, None, 5),
        (3, None, 3),
        (2, None, 2),
        (7, 7, 7),
    ],
)
def test_tasks(classes: int, wanted: int | None, tasks: int) -> None:
    assert folder.task_count(classes, wanted) == tasks


def test_options_and_files_are_in_the_fingerprint(tmp_path: Path) -> None:
    made(tmp_path)
    prints = [
        folder.source(tmp_path, **options).fingerprint()
        for options in ({}, {"image_size": 16}, {"tasks": 2}, {"held_out": 0.3}, {})
    ]
    assert prints[0] == prints[-1]
    assert len({repr(each) for each in prints}) == 4
    later(tmp_path / "class 0" / "0.png")
    assert folder.source(tmp_path).fingerprint() != prints[0]


def test_chunks_keep_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, classes=2, each=30)
    source = folder.source(tmp_path, image_size=8, held_out=0.1)
    monkeypatch.setattr(pictures, "CHUNK", 16)
    whole = numbers(source, "train").tolist()
    assert whole == sorted(whole, key=lambda n: (n // 100, f"{n % 100}.png"))
    assert [len(y) for _, y in source.images("train")][:3] == [16, 16, 16]


def test_it_is_loaded_by_name(tmp_path: Path) -> None:
    made(tmp_path / "pets")
    dataset = datasets.load(f"folder:{tmp_path}/pets", tmp_path / "data", image_size=8, tasks=2)
    assert (dataset.shape, dataset.tasks, dataset.classes) == ((3, 8, 8), 2, 4)
    assert dataset.test_sha256


def packed(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive in memory."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


def claiming(size: int, data: bytes) -> bytes:
    """An archive whose files say that they have another size than this data."""
    archive = packed(dict.fromkeys(PETS, data))
    return archive.replace(len(data).to_bytes(4, "little"), size.to_bytes(4, "little"))


PETS = [f"{kind}/{number}.png" for kind in ("cat", "dog") for number in range(3)]
BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "many gigabytes": (lambda: claiming(1 << 31, bytes(12_345)), "unpacks to more than"),
    "large images": (lambda: claiming(2 << 20, bytes(12_345)), "is larger than 1 MiB"),
    "bzip2": (
        lambda: packed(dict.fromkeys(PETS, b"x"), zipfile.ZIP_BZIP2),
        "unsupported compression",
    ),
    "line break": (lambda: packed({"cat/a\nb.png": b"x"}), "has a control character"),
    "directory": (
        lambda: packed({f"cat/{number}.png": b"" for number in range(3000)}),
        "bytes at once",
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_zip_archive_cannot_take_much_memory(
    bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "LARGEST_DIRECTORY", 100_000)
    monkeypatch.setattr(listing, "LARGEST", 1 << 20)
    make, message = BOMBS[bomb]
    (tmp_path / "pets.zip").write_bytes(make())
    with little_memory(), pytest.raises(UserError, match=message) as caught:
        both_splits(folder.source, tmp_path / "pets.zip")
    assert "\n" not in str(caught.value)


def test_no_more_is_unpacked_than_an_archive_says(tmp_path: Path) -> None:
    (tmp_path / "pets.zip").write_bytes(claiming(100, bytes(8 << 20)))
    files = listing.listing(tmp_path / "pets.zip")
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match=r"cat/0\.png cannot be unpacked"):
            files.read("cat/0.png")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1 << 20


def test_any_damage_to_a_zip_archive_ends_in_the_images_or_in_one_line(tmp_path: Path) -> None:
    made(tmp_path / "made", classes=2, each=3)
    path = zipped(tmp_path / "made", tmp_path / "pets.zip", "pets/")
    whole = path.read_bytes()
    images = all_images(path)
    assert images
    with little_memory():
        for content in mutations(whole, seed=0, count=150):
            path.write_bytes(content)
            # A changed name is another class or image; the pixels are in the checksum.
            assert (read_or_refused(partial(all_images, path)) or images) <= images


def all_images(path: Path) -> set[bytes]:
    source = folder.source(path)
    return {image.tobytes() for split in SPLITS for image in everything(source, split)[0]}


def empty_class(root: Path) -> None:
    (root / "class 9").mkdir()


def one_class(root: Path) -> None:
    for label in range(1, 4):
        (root / f"class {label}").rename(root.parent / f"away {label}")


def loop(root: Path) -> None:
    (root / "class 0" / "again").symlink_to(root)


def pipe(root: Path) -> None:
    os.mkfifo(root / "class 0" / "pipe.png")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (empty_class, r"class 'class 9' has 0 images, expected at least 2"),
        (
            lambda root: save(root / "class 9" / "a.png"),
            r"'class 9' has 1 image, expected at least 2",
        ),
        (one_class, r"has 1 class folders: expected at least 2"),
        (lambda root: (root / "class 0/a.jpg").touch(), r"class 0/a\.jpg is empty \(0 bytes\)"),
        (lambda root: (root / "class 0/a.jpg").write_text("x"), r"class 0/a\.jpg cannot be decod"),
        (
            lambda root: (root / "class 0/a.mp4").write_text("x"),
            r"class 0/a\.mp4 is not an image .*: check that this is a folder of images, or move",
        ),
        (lambda root: save(root / "a.png"), r"/a\.png is outside the class folders"),
        (lambda root: (root / "class 0/a.png").symlink_to("no"), r"cannot read .*a\.png: No such"),
        (loop, r"remove links to parent folders"),
        (pipe, r"pipe\.png is not a plain file"),
    ],
)
def test_spoiled_folders_are_refused_in_one_line(
    tmp_path: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(made(tmp_path / "pets"))
    with pytest.raises(UserError, match=message) as caught:
        both_splits(folder.source, tmp_path / "pets")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (3, 2, r"/test: class class 2 is missing"),
        (2, 3, r"/test: class class 2 is not one of the 2 expected"),
    ],
)
def test_given_splits_must_have_the_same_classes(
    tmp_path: Path, train: int, test: int, message: str
) -> None:
    made(tmp_path / "train", train, 2)
    made(tmp_path / "test", test, 2)
    with pytest.raises(UserError, match=message):
        folder.source(tmp_path)


@pytest.mark.parametrize(
    "parts", [("train", "validation"), ("Training", "Testing"), ("train", "valid")]
)
def test_a_split_by_other_names_does_not_pass_for_classes(
    tmp_path: Path, parts: tuple[str, str]
) -> None:
    for part in parts:
        made(tmp_path / part)
    first, second = sorted(parts)
    with pytest.raises(UserError, match=rf"{first} and {second} look like a split.*: rename"):
        folder.source(tmp_path)


def test_one_class_may_be_named_like_a_part(tmp_path: Path) -> None:
    made(tmp_path).joinpath("class 3").rename(tmp_path / "train")
    assert folder.source(tmp_path).layout().class_names[-1] == "train"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_size": 2}, r"image size 2: expected 8 to 1024"),
        ({"held_out": 0.0}, r"held-out share 0\.0: expected a number between 0 and 1"),
        ({"held_out": float("nan")}, r"held-out share nan"),
        ({"tasks": 5}, r"5 tasks: expected 1 to 4"),
        ({"tasks": 0}, r"0 tasks: expected 1 to 4"),
    ],
)
def test_senseless_options_are_refused(
    tmp_path: Path, options: dict[str, float], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        folder.source(made(tmp_path), **options)


def test_empty_missing_and_unreadable_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"has 0 class folders"):
        folder.source(tmp_path)
    for name in ("nowhere", "x" * 300):  # longer than a file system allows
        with pytest.raises(UserError, match=rf"no folder .*/{name}: check the path"):
            folder.source(tmp_path / name)
    (tmp_path / "a.zip").write_text("x")
    with pytest.raises(UserError, match=r"a\.zip is not a complete zip archive.*, or unpack"):
        folder.source(tmp_path / "a.zip").layout()

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(listing.os, "scandir", refuse)
    with pytest.raises(UserError, match=r"cannot read .*: Permission denied"):
        folder.source(tmp_path)


def test_huge_files_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    monkeypatch.setattr(listing, "LARGEST", 10)
    with pytest.raises(UserError, match=r"\.png is larger than"):
        everything(folder.source(tmp_path), "train")

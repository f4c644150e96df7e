"""Mini-ImageNet in each of its forms, tiny, and broken in each of the usual ways."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bison_ocl import data as datasets
from bison_ocl.data.sources import miniimagenet
from bison_ocl.data.sources.miniimagenet_rule import Benchmark, official
from bison_ocl.data.sources.source import Source
from bison_ocl.data.storage.cache import open_cached
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

WNIDS = ("n03", "n01", "n02", "n04")
TINY = Benchmark({w: f"name {w}" for w in WNIDS}, train=5, test=2, side=8, tasks=2)
GROUPS = {"train": ("n03", "n01"), "val": ("n02",), "test": ("n04",)}

RULE_1_BY_NAME = [100, 103, 202, 205, 301, 304, 401, 405]
RULE_1_BY_PLACE = [100, 105, 203, 206, 300, 303, 401, 405]


def number(wnid: str, image: int) -> int:
    return 100 * int(wnid[1:]) + image


def file_name(wnid: str, image: int, ending: str = "jpg") -> str:
    return f"{wnid}{image:08}.{ending}"


def read(place: Path) -> Source:
    return miniimagenet.source(place, TINY)


def class_folders(root: Path, ending: str = "jpg") -> None:
    for wnid in WNIDS:
        for image in range(7):
            save(root / wnid / file_name(wnid, image, ending), colour_of(number(wnid, image)))


def groups_of_classes(root: Path) -> None:
    class_folders(root)
    for group, wnids in GROUPS.items():
        for wnid in wnids:
            (root / group).mkdir(exist_ok=True)
            (root / wnid).rename(root / group / wnid)


def tables(root: Path) -> None:
    class_folders(root)
    (root / "images").mkdir()
    for group, wnids in GROUPS.items():
        rows = [(file_name(wnid, image), wnid) for wnid in wnids for image in reversed(range(7))]
        for file, wnid in rows:
            (root / wnid / file).rename(root / "images" / file)
        lines = ["filename,label", *(",".join(row) for row in rows)]
        (root / f"{group}.csv").write_text("\n".join(lines))
    save(root / "images" / "of no class.jpg")
    for wnid in WNIDS:
        (root / wnid).rmdir()


def pickles(root: Path, protocol: int = 2) -> None:
    root.mkdir(parents=True)
    for group, wnids in GROUPS.items():
        colours = [colour_of(number(wnid, image)) for image in range(7) for wnid in wnids]
        pixels = np.broadcast_to(
            np.array(colours, np.uint8)[:, None, None], (len(colours), 8, 8, 3)
        )
        places = {w: list(range(i, len(colours), len(wnids))) for i, w in enumerate(wnids)}
        content = {"image_data": np.ascontiguousarray(pixels), "class_dict": places}
        path = root / f"mini-imagenet-cache-{group}.pkl"
        path.write_bytes(pickle.dumps(content, protocol))


def cut_by_name(root: Path, test: str = "val") -> None:
    for wnid in WNIDS:
        for image in range(7):
            part = "train" if image < 5 else test
            save(root / part / wnid / file_name(wnid, image), colour_of(number(wnid, image)))


FORMS: dict[str, Callable[[Path], None]] = {
    "class folders": class_folders,
    "other endings": lambda root: class_folders(root, "PNG"),
    "groups of classes": groups_of_classes,
    "tables": tables,
    "pickles": pickles,
    "cut by name": cut_by_name,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_all_images_once_with_the_same_class_ids(
    tmp_path: Path, form: str
) -> None:
    FORMS[form](tmp_path / "mini-imagenet")
    source = read(tmp_path)
    layout = source.layout()
    assert (layout.shape, layout.train, layout.test, layout.tasks) == ((3, 8, 8), 20, 8, 2)
    assert layout.class_names == ("name n01", "name n02", "name n03", "name n04")
    found = {split: numbers(source, split) for split in ("train", "test")}
    assert sorted(np.concatenate([*found.values()])) == sorted(
        number(wnid, image) for wnid in WNIDS for image in range(7)
    )
    for split, each in found.items():
        assert (everything(source, split)[1] == each // 100 - 1).all()


@pytest.mark.parametrize("form", ["other endings", "groups of classes", "tables", "cut by name"])
def test_every_form_with_file_names_gives_the_same_images_in_the_same_order(
    tmp_path: Path, form: str
) -> None:
    class_folders(tmp_path / "a" / "mini-imagenet")
    FORMS[form](tmp_path / "b" / "miniImageNet")
    for split in ("train", "test"):
        assert (numbers(read(tmp_path / "a"), split) == numbers(read(tmp_path / "b"), split)).all()


def test_the_rule_stays_as_it_is(tmp_path: Path) -> None:
    class_folders(tmp_path / "mini-imagenet")
    pickles(tmp_path / "pickles" / "mini-imagenet")
    assert numbers(read(tmp_path), "test").tolist() == RULE_1_BY_NAME
    assert sorted(numbers(read(tmp_path / "pickles"), "test").tolist()) == RULE_1_BY_PLACE


@pytest.mark.parametrize("part", ["val", "test"])
def test_folders_for_training_and_testing_are_drawn_anew(tmp_path: Path, part: str) -> None:
    cut_by_name(tmp_path, part)
    assert numbers(read(tmp_path), "test").tolist() == RULE_1_BY_NAME


def test_training_folders_alone_are_too_few_images(tmp_path: Path) -> None:
    cut_by_name(tmp_path)
    shutil.rmtree(tmp_path / "val")
    with pytest.raises(UserError, match=r"class n01 has 5 images, not 7"):
        read(tmp_path)


def test_a_zip_archive_is_read_where_it_is(tmp_path: Path) -> None:
    class_folders(tmp_path / "made")
    archive = zipped(tmp_path / "made", tmp_path / "mini-imagenet.zip", "some folder/")
    source = read(tmp_path)
    assert numbers(source, "test").tolist() == RULE_1_BY_NAME
    assert source.paths == [archive]


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_pickles_of_every_protocol(tmp_path: Path, protocol: int) -> None:
    pickles(tmp_path / "mini-imagenet", protocol)
    assert sorted(numbers(read(tmp_path), "test").tolist()) == RULE_1_BY_PLACE


@pytest.mark.parametrize("form", ["class folders", "pickles"])
def test_the_fingerprint_changes_with_the_files(tmp_path: Path, form: str) -> None:
    FORMS[form](tmp_path / "mini-imagenet")
    before = read(tmp_path).fingerprint()
    assert read(tmp_path).fingerprint() == before
    later(next(path for path in (tmp_path / "mini-imagenet").rglob("*") if path.is_file()))
    assert read(tmp_path).fingerprint() != before


def test_what_lies_about_is_ignored(tmp_path: Path) -> None:
    class_folders(tmp_path)
    for name in ("n01/.DS_Store", "n01/Thumbs.db", "n01/notes.txt", "README.md", ".git/x.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert numbers(read(tmp_path), "test").tolist() == RULE_1_BY_NAME


def spoil(path: Path, content: bytes) -> Callable[[Path], object]:
    return lambda root: (root / path).write_bytes(content)


FOLDERS_SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "class missing": (lambda root: shutil.rmtree(root / "n02"), r"class n02 is missing"),
    "class extra": (
        lambda root: save(root / "n09" / "a.jpg"),
        r"class n09 is not one of the 4 expected",
    ),
    "too few": (
        lambda root: (root / "n02" / file_name("n02", 3)).unlink(),
        r"class n02 has 6 images, not 7",
    ),
    "too many": (lambda root: save(root / "n02" / "more.jpg"), r"class n02 has 8 images, not 7"),
    "empty file": (
        spoil(Path("n02", file_name("n02", 3)), b""),
        r"n02/n0200000003\.jpg is empty \(0 bytes\)",
    ),
    "corrupt": (
        spoil(Path("n02", file_name("n02", 3)), b"broken"),
        r"n02/n0200000003\.jpg cannot be decoded \(not an image\)",
    ),
    "no image": (spoil(Path("n02/paper.pdf"), b"%PDF"), r"n02/paper\.pdf is not an image"),
    "beside": (lambda root: save(root / "a.jpg"), r"a\.jpg is outside the class folders"),
    "same name": (
        lambda root: (root / "n02" / file_name("n02", 3)).rename(
            root / "n02" / file_name("n02", 4, "png")
        ),
        r"class n02 has two images with one name",
    ),
}


@pytest.mark.parametrize("case", FOLDERS_SPOILED)
def test_spoiled_folders_are_refused_in_one_line(tmp_path: Path, case: str) -> None:
    spoiled, message = FOLDERS_SPOILED[case]
    class_folders(tmp_path)
    spoiled(tmp_path)
    with pytest.raises(UserError, match=message) as caught:
        both_splits(read, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "filename,label\nnone.jpg,n02",
            r"val\.csv line 2 names .*images/none\.jpg, which is missing",
        ),
        ("file,class\na,b", r"val\.csv has no columns filename and label"),
        ("filename,label\nnone.jpg", r"val\.csv line 2 has no file name or no label"),
        ("filename,label\n../../secret.jpg,n02", r"which is missing"),
        ("filename,label\nnone.jpg,n\x1b[2J", r"val\.csv line 2 has no file name or no label"),
        ("", r"val\.csv has no columns"),
        ("filename,label", r"class n02 is missing"),
        (b"\xff\xfe\x00", r"val\.csv is not a UTF-8 text file"),
        (f"filename,label\n{'a' * 200_000},n02", r"val\.csv line 2 cannot be read \(field larger"),
        (None, r"val\.csv is missing: all three CSV files are needed"),
    ],
)
def test_spoiled_tables_are_refused(
    tmp_path: Path, table: str | bytes | None, message: str
) -> None:
    tables(tmp_path)
    path = tmp_path / "val.csv"
    if table is None:
        path.unlink()
    else:
        path.write_bytes(table if isinstance(table, bytes) else table.encode())
    with pytest.raises(UserError, match=message):
        read(tmp_path)


def test_a_file_that_two_rows_name_is_refused(tmp_path: Path) -> None:
    tables(tmp_path)
    path = tmp_path / "val.csv"
    path.write_text(path.read_text().replace(file_name("n02", 3), file_name("n02", 4)))
    with pytest.raises(UserError, match=r"class n02 has two images with one name"):
        read(tmp_path)


ONE = {"n02": list(range(7))}
SMALL = np.zeros((7, 8, 8, 3), np.uint8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"image_data": SMALL, "class_dict": {}}, r"class n02 is missing"),
        (
            {"image_data": SMALL, "class_dict": {"n09": ONE["n02"]}},
            r"class n09 is not one of the 4",
        ),
        (
            {"image_data": SMALL, "class_dict": {"n01": ONE["n02"]}},
            r"n01 is also in another of the",
        ),
        ({"image_data": SMALL, "class_dict": {"n02": [1, 2]}}, r"n02 has 2 images, not 7"),
        (
            {"image_data": SMALL, "class_dict": {"n02": [*range(1, 8)]}},
            r"names missing images",
        ),
        ({"image_data": SMALL, "class_dict": {"n02": [0] * 7}}, r"class_dict is damaged"),
        ({"image_data": SMALL, "class_dict": {"n02": [0.5] * 7}}, r"class_dict is damaged"),
        ({"image_data": SMALL[:, 1:], "class_dict": ONE}, r"uint8 \(7, 8, 3\), not uint8 \(8, 8"),
        ({"image_data": SMALL.astype("f4"), "class_dict": ONE}, r"images are float32"),
        ({"class_dict": ONE}, r"has no image_data and class_dict"),
        ({"image_data": SMALL, "class_dict": {5: [1]}}, r"has no image_data and class_dict"),
        ({"image_data": SMALL, "class_dict": {"n02": [[1], [2, 3]]}}, r"class_dict is damaged"),
        ({"image_data": SMALL, "class_dict": {"n02": [2**70] * 7}}, r"class_dict is damaged"),
        ({"image_data": SMALL, "class_dict": {"n02": ["a"] * 6}}, r"class_dict is damaged"),
        ([1, 2], r"has no image_data and class_dict"),
        (os.system, r"refused to read .*val\.pkl"),
    ],
)
def test_spoiled_pickles_are_refused(tmp_path: Path, content: object, message: str) -> None:
    pickles(tmp_path / "mini-imagenet")
    path = tmp_path / "mini-imagenet" / "mini-imagenet-cache-val.pkl"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(UserError, match=message):
        everything(read(tmp_path), "test")


def test_a_cut_off_or_missing_pickle_is_named(tmp_path: Path) -> None:
    pickles(tmp_path / "mini-imagenet")
    path = tmp_path / "mini-imagenet" / "mini-imagenet-cache-val.pkl"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(UserError, match=r"val\.pkl is truncated"):
        everything(read(tmp_path), "train")
    path.unlink()
    with pytest.raises(UserError, match=r"val\.pkl is missing: all three"):
        read(tmp_path)


def test_a_folder_without_the_data_says_what_to_put_there(tmp_path: Path) -> None:
    (tmp_path / "cifar-10").mkdir()
    with pytest.raises(UserError, match=r"put the three mini-imagenet-cache.*looked in "):
        read(tmp_path)
    with pytest.raises(UserError, match=r"put the three .*there is no folder .*nowhere"):
        read(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot read the data folder .*file"):
        read(tmp_path / "file")


def test_it_is_cached_and_opened(tmp_path: Path) -> None:
    class_folders(tmp_path / "mini-imagenet")
    first, second = (open_cached(read(tmp_path), tmp_path / "cache") for _ in range(2))
    assert first.train.x.shape == (20, 3, 8, 8)
    assert first.test_sha256 == second.test_sha256 != ""


def test_the_official_benchmark() -> None:
    benchmark = official()
    assert (len(benchmark.classes), len(set(benchmark.classes.values()))) == (100, 100)
    assert list(benchmark.classes) == sorted(benchmark.classes)
    assert (benchmark.each, benchmark.side, benchmark.tasks) == (600, 84, 10)


def test_the_real_files() -> None:
    if not (place := os.environ.get("BISON_OCL_DATA")):
        pytest.skip("BISON_OCL_DATA does not say where the real files are")
    try:
        source = datasets.source_of("split-miniimagenet", place)
    except UserError as error:
        pytest.skip(str(error))
    layout = source.layout()
    assert (layout.shape, layout.train, layout.test) == ((3, 84, 84), 50_000, 10_000)
    x, y = next(source.images("test"))
    assert x.shape[1:] == (3, 84, 84)
    assert 50 < x.mean() < 200
    assert y[0] == 0 or len(set(y.tolist())) == 1

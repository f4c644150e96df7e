"""A cache is built once, mapped into memory, and never used half-written or out of date."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bison_ocl import data as datasets
from bison_ocl.batch import Batch
from bison_ocl.data.dataset import Dataset
from bison_ocl.data.sources.source import Images, Labels, Layout, Split
from bison_ocl.data.storage.cache import ARRAYS, file_sum, open_cached, seal, state_of_cache
from bison_ocl.data.storage.places import cache_folder, data_folder
from bison_ocl.errors import UserError
from tests.data.mutations import mutations


@dataclass
class Made:
    """A source of two classes that counts how often it is decoded."""

    name: str = "made up/of:words"
    version: int = 1
    each: int = 6
    side: int = 8
    pause: float = 0.0
    log: Path | None = None
    trouble: Exception | None = None
    decoded: list[str] = field(default_factory=list)

    def fingerprint(self) -> dict[str, Any]:
        return {"version": self.version}

    def layout(self) -> Layout:
        return Layout((3, self.side, self.side), 3 * self.each, self.each, 2, ("a", "ü"))

    def images(self, split: Split) -> Iterator[tuple[Images, Labels]]:
        self.decoded.append(split)
        if self.log and split == "train":
            with open(self.log, "a") as file:
                file.write("train\n")
        for number in range(3 if split == "train" else 1):
            time.sleep(self.pause)
            if self.trouble and number == 2:
                raise self.trouble
            draw = np.random.default_rng([self.version, number, len(split)])
            shape = (self.each, 3, self.side, self.side)
            yield draw.integers(0, 256, shape, dtype=np.uint8), np.arange(self.each) % 2


def caches(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".partial")]


def test_a_source_is_decoded_once_and_comes_back_equal(tmp_path: Path) -> None:
    source = Made()
    first, second = (open_cached(source, tmp_path / "cache") for _ in range(2))
    assert source.decoded == ["train", "test"]
    for dataset in (first, second):
        for split in ("train", "test"):
            batch = getattr(dataset, split)
            x, y = zip(*Made().images(split), strict=True)
            assert np.array_equal(batch.x.numpy(), np.concatenate(x))
            assert np.array_equal(batch.y.numpy(), np.concatenate(y))
            assert (batch.x.dtype, batch.y.dtype) == (torch.uint8, torch.int64)
    assert (first.name, first.classes, first.tasks) == (source.name, 2, 2)
    assert first.class_names == ("a", "ü")
    assert len(first.test_sha256) == 64
    assert (first.test_sha256, first.shape) == (second.test_sha256, (3, 8, 8))


def test_writing_into_a_dataset_changes_neither_the_cache_nor_the_next_one(tmp_path: Path) -> None:
    first = open_cached(Made(), tmp_path)
    first.train.x.zero_()
    second = open_cached(Made(), tmp_path)
    assert second.train.x.any()
    assert "is complete" in state_of_cache(Made(), tmp_path)


def test_another_fingerprint_makes_another_cache(tmp_path: Path) -> None:
    old = open_cached(Made(version=1), tmp_path)
    new = open_cached(Made(version=2), tmp_path)
    assert len(caches(tmp_path)) == 2
    assert not torch.equal(old.train.x, new.train.x)
    assert old.test_sha256 != new.test_sha256


def damage_json(folder: Path) -> None:
    (folder / "cache.json").write_text("{")


def damage_size(folder: Path) -> None:
    with open(folder / "train_x.npy", "r+b") as file:
        file.truncate(200)


def damage_missing(folder: Path) -> None:
    (folder / "test_y.npy").unlink()


def damage_digest(folder: Path) -> None:
    about = json.loads((folder / "cache.json").read_text())
    (folder / "cache.json").write_text(json.dumps({**about, "digest": "another"}))


@pytest.mark.parametrize("damage", [damage_json, damage_size, damage_missing, damage_digest])
def test_a_cache_that_is_not_whole_is_made_again(
    damage: Callable[[Path], None], tmp_path: Path
) -> None:
    good = open_cached(Made(), tmp_path).train.x.clone()
    damage(caches(tmp_path)[0])
    assert state_of_cache(Made(), tmp_path).startswith("incomplete")
    source = Made()
    again = open_cached(source, tmp_path)
    assert source.decoded == ["train", "test"]
    assert torch.equal(again.train.x, good)


def test_a_changed_byte_is_found_by_the_checksums(tmp_path: Path) -> None:
    assert state_of_cache(Made(), tmp_path).startswith("none")
    open_cached(Made(), tmp_path)
    flip(caches(tmp_path)[0] / "train_x.npy", -1)
    with pytest.raises(UserError, match=r"is damaged \(train_x\): remove it"):
        state_of_cache(Made(), tmp_path)


def flip(path: Path, place: int) -> None:
    """Turn one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("place", [-1, 30], ids=["content", "header"])
def test_a_changed_byte_is_noticed_when_the_cache_is_opened(
    array: str, place: int, tmp_path: Path
) -> None:
    good = in_memory(open_cached(Made(), tmp_path))
    flip(caches(tmp_path)[0] / f"{array}.npy", place)
    source = Made()
    assert same(open_cached(source, tmp_path), good)
    assert source.decoded == ["train", "test"]
    assert "is complete" in state_of_cache(Made(), tmp_path)


def test_a_cache_is_read_through_once_per_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_cached(Made(), tmp_path)
    open_cached(Made(), tmp_path)
    monkeypatch.setattr("hashlib.file_digest", None)
    assert len(open_cached(Made(), tmp_path).train) == 18


def test_a_damaged_cache_without_its_source_ends_in_one_line(tmp_path: Path) -> None:
    open_cached(Made(), tmp_path)
    flip(caches(tmp_path)[0] / "test_y.npy", -8)
    with pytest.raises(UserError, match="image 7 is broken"):
        open_cached(Made(trouble=UserError("image 7 is broken")), tmp_path)


def test_a_cache_of_an_earlier_version_is_made_again(tmp_path: Path) -> None:
    """Version 0.1.0 summed up contents without headers, and cache.json not at all."""
    good = open_cached(Made(), tmp_path)
    about_file = caches(tmp_path)[0] / "cache.json"
    about = json.loads(about_file.read_text())
    del about["about_sha256"]
    about_file.write_text(json.dumps(about, indent=1))
    source = Made()
    again = open_cached(source, tmp_path)
    assert source.decoded == ["train", "test"]
    assert again.test_sha256 == good.test_sha256
    assert len(caches(tmp_path)) == 1


def forged(folder: Path, **changes: Any) -> None:
    """Change what a cache says of itself, and its checksums with it."""
    about = json.loads((folder / "cache.json").read_text())
    del about["about_sha256"]
    about["sha256"] |= {
        name: hashlib.sha256((folder / f"{name}.npy").read_bytes()).hexdigest() for name in ARRAYS
    }
    about |= changes
    (folder / "cache.json").write_text(json.dumps({**about, "about_sha256": seal(about)}))


def test_labels_of_no_class_are_refused_whatever_the_checksums_say(tmp_path: Path) -> None:
    open_cached(Made(), tmp_path)
    (folder,) = caches(tmp_path)
    labels = np.load(folder / "train_y.npy")
    for label in (2, -1):
        labels[3] = label
        np.save(folder / "train_y.npy", labels)
        forged(folder)
        with pytest.raises(UserError, match=r"cannot read the cache .*: remove it"):
            open_cached(Made(), tmp_path)


def test_another_layout_is_refused_whatever_the_checksums_say(tmp_path: Path) -> None:
    open_cached(Made(), tmp_path)
    layout = {"shape": [3, 8, 8], "train": 10**9, "test": 6, "tasks": 2, "class_names": ["a", "b"]}
    for changed in (layout, {**layout, "train": 18, "more": 1}, {}, None, {**layout, "shape": 3}):
        forged(caches(tmp_path)[0], layout=changed)
        with pytest.raises(UserError, match=r"cannot read the cache .*: remove it"):
            open_cached(Made(), tmp_path)


@pytest.mark.parametrize("header", [b"PK\x03\x04", b"\x93NUMPY\x01\x00\x08\x00{((((((("])
def test_another_header_is_refused_whatever_the_checksums_say(
    header: bytes, tmp_path: Path
) -> None:
    open_cached(Made(), tmp_path)
    path = caches(tmp_path)[0] / "train_x.npy"
    path.write_bytes(header + path.read_bytes()[len(header) :])
    forged(path.parent)
    with pytest.raises(UserError, match=r"cannot read the cache .*: remove it"):
        open_cached(Made(), tmp_path)
    forged(path.parent, sha256={})
    assert len(open_cached(Made(), tmp_path).train) == 18


@pytest.mark.parametrize("name", ["cache.json", "train_x.npy"])
def test_a_pipe_in_a_cache_is_not_waited_for(name: str, tmp_path: Path) -> None:
    open_cached(Made(), tmp_path)
    (folder,) = caches(tmp_path)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert len(open_cached(Made(), tmp_path).train) == 18


def test_any_damage_gives_the_right_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file of a cache in turn, as a new process would find it."""
    monkeypatch.setattr("os.fsync", lambda _: None)  # a slow disk would make this a slow test
    source = Made(each=2)
    good = in_memory(open_cached(source, tmp_path))
    (folder,) = caches(tmp_path)
    files = sorted(folder.iterdir())
    whole = {path: path.read_bytes() for path in files}
    for path in files:
        for changed in mutations(whole[path], seed=len(path.name), count=60):
            path.write_bytes(changed)
            file_sum.cache_clear()
            assert same(open_cached(source, tmp_path), good)
            path.write_bytes(whole[path])


def in_memory(dataset: Dataset) -> Dataset:
    """A copy that does not change with the files."""
    train, test = (Batch(part.x.clone(), part.y.clone()) for part in (dataset.train, dataset.test))
    return replace(dataset, train=train, test=test)


def same(one: Dataset, other: Dataset) -> bool:
    """Whether two are of the same images, labels, names and digests."""
    tensors = [(getattr(one, split), getattr(other, split)) for split in ("train", "test")]
    return all(torch.equal(a.x, b.x) and torch.equal(a.y, b.y) for a, b in tensors) and all(
        getattr(one, name) == getattr(other, name)
        for name in ("name", "classes", "tasks", "class_names", "test_sha256", "train_sha256")
    )


@pytest.mark.parametrize(
    ("trouble", "match"),
    [
        (UserError("image 7 is broken"), "image 7 is broken"),
        (PermissionError(13, "Permission denied", "some.jpg"), "cannot read some.jpg: Permission"),
    ],
)
def test_a_source_that_breaks_leaves_nothing(
    trouble: Exception, match: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=match):
        open_cached(Made(trouble=trouble), tmp_path)
    assert (caches(tmp_path), leftovers(tmp_path)) == ([], [])
    assert len(open_cached(Made(), tmp_path).test) == 6


def test_fewer_images_than_the_source_said_are_noticed(tmp_path: Path) -> None:
    class Short(Made):
        def layout(self) -> Layout:
            return Layout((3, 8, 8), 99, 6, 2, ("a", "b"))

    with pytest.raises(UserError, match="18 train images, expected 99"):
        open_cached(Short(), tmp_path)
    assert caches(tmp_path) == []


def test_a_full_disk_is_said_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
    try:
        with pytest.raises(UserError, match="the disk is full; free space") as caught:
            open_cached(Made(), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "\n" not in str(caught.value)
    assert (caches(tmp_path), leftovers(tmp_path)) == ([], [])
    assert len(open_cached(Made(), tmp_path).train) == 18


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UserError, match=r"cannot write the cache in .*file.*BISON_OCL_CACHE"):
        open_cached(Made(), tmp_path / "file" / "cache")


def child(work: Callable[[], object]) -> int:
    """Run something in a process of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of threads
        pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


def test_two_processes_build_it_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    source = Made(pause=0.05, log=log)
    children = [child(lambda: open_cached(source, tmp_path / "cache")) for _ in range(3)]
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
    assert log.read_text() == "train\n"
    assert len(open_cached(source, tmp_path / "cache").train) == 18
    assert source.decoded == []


def test_threads_build_it_once_too(tmp_path: Path) -> None:
    source = Made(pause=0.02)
    threads = [threading.Thread(target=open_cached, args=(source, tmp_path)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source.decoded == ["train", "test"]


def test_a_killed_process_leaves_nothing_that_is_used(tmp_path: Path) -> None:
    pid = child(lambda: open_cached(Made(pause=5), tmp_path))
    until = time.monotonic() + 10
    while not (tmp_path.is_dir() and leftovers(tmp_path)) and time.monotonic() < until:
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert leftovers(tmp_path)
    assert caches(tmp_path) == []
    source = Made()
    assert len(open_cached(source, tmp_path).train) == 18
    assert source.decoded == ["train", "test"]
    assert leftovers(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
def test_opening_keeps_no_images_in_memory(tmp_path: Path) -> None:
    large = Made(each=700, side=84)
    open_cached(large, tmp_path)
    file_sum.cache_clear()
    before, start = resident(), time.perf_counter()
    dataset = open_cached(large, tmp_path)
    assert time.perf_counter() - start < 2
    assert resident() - before < 8e6
    assert dataset.train.x.numel() > 44e6


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_the_file_says_what_it_holds(tmp_path: Path) -> None:
    open_cached(Made(), tmp_path)
    (folder,) = caches(tmp_path)
    assert folder.name.startswith("made-up-of-words-")
    about = json.loads((folder / "cache.json").read_text())
    assert about["fingerprint"] == {"version": 1}
    assert about["layout"]["class_names"] == ["a", "ü"]
    assert set(ARRAYS) < set(about["sha256"])
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["cache.json", *(f"{name}.npy" for name in ARRAYS)]
    )


def test_places_are_chosen_by_option_then_variable_then_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BISON_OCL_DATA", "BISON_OCL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == tmp_path / ".cache" / "bison-ocl"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert data_folder() == tmp_path / "xdg" / "bison-ocl"
    monkeypatch.setenv("BISON_OCL_DATA", "~/data")
    assert data_folder() == tmp_path / "data"
    assert data_folder("here") == Path("here")
    assert cache_folder("here") == Path("here/cache")
    (tmp_path / "some.tar.gz").write_bytes(b"")
    assert cache_folder(tmp_path / "some.tar.gz") == tmp_path / "cache"
    monkeypatch.setenv("BISON_OCL_CACHE", str(tmp_path / "elsewhere"))
    assert cache_folder("here") == tmp_path / "elsewhere"


@pytest.mark.parametrize(
    ("variables", "chosen", "advice"),
    [
        ({}, None, "set BISON_OCL_DATA, or --data-dir, to a path without"),
        ({"HOME": ""}, None, "set BISON_OCL_DATA, or --data-dir, to a path without"),
        ({"XDG_CACHE_HOME": "~nouser/x"}, None, "set BISON_OCL_DATA, or --data-dir, to a path"),
        ({"BISON_OCL_DATA": "~nouser/x"}, None, "set BISON_OCL_DATA to a path without"),
        ({"BISON_OCL_CACHE": "~/x"}, "here", "set BISON_OCL_CACHE to a path without"),
        ({}, "~nouser/x", "give --data-dir a path without"),
    ],
)
def test_without_a_home_folder_one_line_says_what_to_set(
    variables: dict[str, str], chosen: str | None, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "BISON_OCL_DATA", "BISON_OCL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("pwd.getpwuid", lambda _: {}["no such user"])
    with pytest.raises(UserError, match=f"no home folder for '~.*': {advice}") as caught:
        cache_folder(chosen)
    assert "\n" not in str(caught.value)


def test_a_folder_of_nobody_is_named() -> None:
    with pytest.raises(UserError, match="for '~nouser/pets': give folder: a path without"):
        datasets.load("folder:~nouser/pets")


def test_options_are_refused_where_a_dataset_has_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"takes no options \(image_size\)"):
        datasets.load("split-cifar10", tmp_path, image_size=64)

"""Files replaced in one rename, or several in one commit, whatever else happens meanwhile."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bison_ocl.errors import UserError
from bison_ocl.files import durable
from bison_ocl.files.durable import (
    check_writable,
    remove_temporary,
    replaced_together,
    settle,
    temporary_name,
    write_atomically,
)
from tests.experiments.disk import complaint, failing

FULL = OSError(errno.ENOSPC, "No space left on device")


class Killed(BaseException):
    """Nothing catches it, as nothing catches kill -9."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- one file ---

WRITER = """
import sys, pathlib
from bison_ocl.files.durable import write_atomically
for _ in range(150):
    write_atomically(pathlib.Path(sys.argv[1]), sys.argv[2].encode() * 100_000)
"""


def test_two_processes_that_write_one_file_leave_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"a" * 100_000)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), text], stderr=subprocess.PIPE)
        for text in "ab"
    ]
    while any(writer.poll() is None for writer in writers):
        data = path.read_bytes()
        assert data in (b"a" * 100_000, b"b" * 100_000)
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert names(tmp_path) == ["file"]


def test_what_killed_processes_left_is_cleared_and_no_more(tmp_path: Path) -> None:
    path, child = tmp_path / "file", subprocess.Popen(["true"])
    child.wait()
    mine, plain = temporary_name(path), f".{path.name}.partial"
    gone = mine.with_name(mine.name.replace(f"-{os.getpid()}-", f"-{child.pid}-"))
    far = gone.with_name(gone.name.replace(durable.host(), "0" * 8))
    old = far.with_name(far.name.replace("0" * 8, "1" * 8))
    before = temporary_name(path)  # of a process with this one's number, as in a container
    for each in (mine, gone, far, old, before, tmp_path / plain, tmp_path / "other.partial"):
        each.write_bytes(b"half")
    os.utime(before, (0, durable.STARTED - 1))
    for each in (old, tmp_path / "other.partial"):
        os.utime(each, (0, time.time() - 2 * durable.HOUR))
    write_atomically(path, b"whole")
    kept = [mine.name, far.name, plain, "other.partial", "file"]
    assert names(tmp_path) == sorted(kept)


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    """A pipe here; as root, a rename onto /dev/null would replace the device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UserError, match=r"cannot write .*: not a regular file; choose another"):
        write_atomically(pipe, b"new")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_long_names_are_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127, "字" * 85):
        write_atomically(tmp_path / name, b"whole")
        assert (tmp_path / name).read_bytes() == b"whole"


def test_what_others_write_under_a_name_of_equal_beginning_stays(tmp_path: Path) -> None:
    """Of earlier checkouts' names only the beginning is known: they go when they are old."""
    mine, theirs = (temporary_name(tmp_path / ("x" * 50 + end)) for end in ("mine", "theirs"))
    earlier = tmp_path / f".{'x' * 50}.{durable.host()}-{os.getpid()}-01234567.partial"
    for each in (mine, theirs, earlier):
        each.write_bytes(b"half")
    remove_temporary(tmp_path / ("x" * 50 + "mine"))
    assert names(tmp_path) == sorted([theirs.name, earlier.name])
    os.utime(earlier, (0, time.time() - 2 * durable.HOUR))
    temporary_name(tmp_path / "other")
    assert names(tmp_path) == [theirs.name]


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_any_call_of_a_write_may_fail(code: int, for_good: bool, tmp_path: Path) -> None:
    path, error = tmp_path / "file", OSError(code, os.strerror(code))
    for at in range(1, 100):
        path.write_bytes(b"old")
        with failing(at, error, for_good) as found:
            told = complaint(write_atomically, path, b"new")
        assert found.failed == (told is not None)
        assert told is None or os.strerror(code) in told
        assert path.read_bytes() in (b"old", b"new")
        if not for_good:
            assert names(tmp_path) == ["file"]
        if not found.failed:
            break
    assert found.calls == ["open", "write", "fsync", "replace", "open", "fsync"]


def test_a_folder_is_probed_under_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines may have a process of the same number."""
    write, seen = Path.write_bytes, set()

    def meanwhile(self: Path, data: bytes) -> int:
        seen.add(self.name)
        if len(seen) == 1:
            check_writable(tmp_path)
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", meanwhile)
    check_writable(tmp_path)
    assert len(seen) == 2
    assert names(tmp_path) == []


# --- several files ---


def old_ones(folder: Path, called: str = "abc") -> list[Path]:
    folder.mkdir()
    paths = [folder / f"{name}.file" for name in called]
    for path in paths:
        path.write_bytes(b"old")
    return paths


def replace_all(paths: list[Path]) -> None:
    with replaced_together(paths) as following:
        for path in following:
            write_atomically(path, b"new")


@pytest.mark.parametrize("called", ["ab", "abc"])
def test_a_kill_at_any_call_leaves_all_old_or_all_new(
    called: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable, "is_gone", lambda _: True)
    found_of_all = set()
    for at in range(1, 100):
        paths = old_ones(tmp_path / str(at), called)
        try:
            with failing(at, Killed()) as found:
                replace_all(paths)
        except Killed:
            pass
        else:
            break
        for one in paths:  # each by a process of its own
            settle([one])
        contents = {path.read_bytes() for path in paths}
        assert len(contents) == 1, found.calls
        found_of_all |= contents
        check_writable(paths[0].parent)
        assert names(paths[0].parent) == [path.name for path in paths]
    assert at > 20
    assert found_of_all == {b"old", b"new"}


@pytest.mark.parametrize("for_good", [False, True])
def test_a_failure_at_any_call_leaves_all_old_or_all_new(for_good: bool, tmp_path: Path) -> None:
    for at in range(1, 100):
        paths = old_ones(tmp_path / str(at))
        with failing(at, FULL, for_good) as found:
            told = complaint(replace_all, paths)
        assert found.failed == (told is not None)
        if told is None:
            break
        assert "No space left on device" in told
        settle(paths)
        assert len({path.read_bytes() for path in paths}) == 1, found.calls
    assert at > 20


def test_others_at_work_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    mine, theirs = old_ones(tmp_path / "mine"), [tmp_path / "mine" / f"{n}.file" for n in "xy"]
    with replaced_together(theirs) as following:
        for path in following:
            write_atomically(path, b"new")
        settle(mine)
        replace_all(mine)
    assert {path.read_bytes() for path in mine + theirs} == {b"new"}
    assert len(names(tmp_path / "mine")) == 5


def test_a_waiting_file_of_an_earlier_version_is_cleared(tmp_path: Path) -> None:
    paths = old_ones(tmp_path / "folder")
    (tmp_path / "folder" / "a.file.next").write_bytes(b"of nobody knows whom")
    settle(paths)
    assert names(tmp_path / "folder") == [path.name for path in paths]


def test_settling_says_why_it_cannot(tmp_path: Path) -> None:
    paths = old_ones(tmp_path / "folder")
    (tmp_path / "folder" / "a.token.next").write_bytes(b"half of a group")
    with failing(1, FULL), pytest.raises(UserError, match=r"cannot write .*No space left"):
        settle(paths)
    settle(paths)
    assert names(tmp_path / "folder") == [path.name for path in paths]

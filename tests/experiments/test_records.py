"""results.jsonl: whole lines or none, and nothing lost when something breaks."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.record import Metrics, as_values
from tests.experiments.disk import complaint, failing, room_for
from tests.made_up import ONE, record

TWO = record(seed=1, commit="é")
ONE_VALUES, TWO_VALUES = as_values(ONE), as_values(TWO)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    records.append(tmp_path / "results.jsonl", ONE)
    records.append(tmp_path / "results.jsonl", TWO)
    return tmp_path / "results.jsonl"


def test_a_line_a_record(path: Path) -> None:
    assert records.read(path) == [ONE, TWO]
    lines = path.read_text().splitlines()
    assert [json.loads(line) for line in lines] == [ONE_VALUES, TWO_VALUES]
    assert path.read_bytes().endswith(b"\n")


def test_a_missing_file_holds_no_records(tmp_path: Path) -> None:
    assert records.read(tmp_path / "none") == []
    assert records.set_aside_torn_line(tmp_path / "none") is False
    assert list(tmp_path.iterdir()) == []


def test_folders_are_made_and_empty_lines_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "results.jsonl"
    records.append(path, ONE)
    path.write_bytes(b"\n" + path.read_bytes() + b"\n")
    assert records.read(path) == [ONE]


def test_not_a_number_never_reaches_the_file(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(ValueError, match="JSON compliant"):
        records.append(path, record(metrics=Metrics(float("nan"), 0.0, 0.0)))
    assert path.read_bytes() == before


# --- a torn last line ---


def test_a_torn_line_is_an_error_that_says_what_to_do(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b'{"schema": 1, "se')
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"truncated line: use --resume to move it away"):
        records.read(path)
    assert path.read_bytes() == before


def test_a_torn_line_is_set_aside_and_nothing_is_lost(path: Path) -> None:
    torn = path.with_name("results.jsonl.torn")
    for text in (b'{"schema": 1, "se', b"\xff\x00"):
        with open(path, "ab") as file:
            file.write(text)
        assert records.set_aside_torn_line(path) is True
        assert records.set_aside_torn_line(path) is False
        assert records.read(path) == [ONE, TWO]
    assert torn.read_bytes() == b'{"schema": 1, "se\n\xff\x00\n'
    records.append(path, ONE)
    assert records.read(path) == [ONE, TWO, ONE]


def test_a_last_line_that_an_editor_left_without_its_end_is_whole(path: Path) -> None:
    before = path.read_bytes()
    path.write_bytes(before.removesuffix(b"\n"))
    assert records.read(path) == records.read_complete(path) == [ONE, TWO]
    assert not records.set_aside_torn_line(path)
    records.append(path, ONE)
    assert records.read(path) == [ONE, TWO, ONE]
    assert path.read_bytes().startswith(before)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_file_of_one_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"sch')
    assert records.set_aside_torn_line(path)
    assert records.read(path) == []


def test_the_torn_line_is_on_disk_before_it_is_cut(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(path, "ab") as file:
        file.write(b"half")
    before = path.read_bytes()

    def fail(_: int) -> None:
        assert path.with_name("results.jsonl.torn").read_bytes() == b"half\n"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(UserError, match="No space left"):
        records.set_aside_torn_line(path)
    assert path.read_bytes() == before


# --- lines of others ---


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"hello", "line 3 is not a result: repair or remove that line"),
        (b"[1]", "line 3 is not a result"),
        (b'"schema"', "line 3 is not a result"),
        (b"{}", "line 3 is not a result"),
        (b"\xff\xfe", "line 3 is not a result"),
        (b"null", "line 3 is not a result"),
        (b'{"schema": 3}', "line 3 has schema 3, this version reads 1 to 2"),
        (b'{"schema": null}', "line 3 has schema None"),
        (b'{"schema": 1}', "line 3 lacks accuracy, also, .*: repair or remove that line"),
        (json.dumps(ONE_VALUES | {"memory": "20"}).encode(), "line 3 is not a result: memory"),
        (json.dumps(ONE_VALUES | {"accuracy": [[1.0], 2]}).encode(), "line 3 is not a result"),
    ],
)
def test_foreign_lines_are_refused(path: Path, line: bytes, message: str) -> None:
    with open(path, "ab") as file:
        file.write(line + b"\n")
    with pytest.raises(UserError, match=message):
        records.read(path)


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").mkdir()
    for action in (records.read, records.set_aside_torn_line):
        with pytest.raises(UserError, match="cannot read"):
            action(tmp_path / "results.jsonl")
    with pytest.raises(UserError, match="cannot write"):
        records.append(tmp_path / "results.jsonl", ONE)


# --- writes that fail ---


def test_a_short_write_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, write = path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:5]))
    with pytest.raises(UserError, match="no space left; earlier results are kept"):
        records.append(path, ONE)
    assert path.read_bytes() == before


@pytest.mark.parametrize("room", [0, 20])
def test_a_full_disk_keeps_earlier_results(path: Path, room: int) -> None:
    before = path.read_bytes()
    with (
        room_for(len(before) + room),
        pytest.raises(UserError, match=r"cannot write .*earlier results are kept"),
    ):
        records.append(path, record(commit="x" * 100))
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        records.append(tmp_path / "file" / "results.jsonl", ONE)


def test_lines_are_written_in_one_call(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bytes] = []
    write = os.write

    def note(handle: int, data: Any) -> int:
        calls.append(bytes(data))
        return write(handle, data)

    monkeypatch.setattr(os, "write", note)
    records.append(path, ONE)
    assert len(calls) == 1
    assert calls[0].endswith(b"\n")


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_any_call_of_an_append_may_fail(
    code: int, for_good: bool, new: bool, tmp_path: Path
) -> None:
    for at in range(1, 100):
        path = tmp_path / str(at) / "results.jsonl"
        earlier = [] if new else [TWO]
        for one in earlier:
            records.append(path, one)
        path.parent.mkdir(exist_ok=True)
        with failing(at, OSError(code, os.strerror(code)), for_good) as found:
            told = complaint(records.append, path, ONE)
        assert found.failed == (told is not None)
        after = records.read_complete(path)
        if told is None:
            break
        assert f"{os.strerror(code)}; earlier results are kept" in told
        assert after in (earlier, [*earlier, ONE])
        if not for_good:  # then what was written could be taken back
            assert records.read(path) == earlier
        if ONE not in after:
            records.append(path, ONE)
        assert records.read(path) == [*earlier, ONE]
    assert found.calls == ["open", "write", "fsync", *["open", "fsync"] * new]


def test_any_call_of_setting_a_line_aside_may_fail(tmp_path: Path) -> None:
    for at in range(1, 100):
        path = tmp_path / str(at) / "results.jsonl"
        records.append(path, ONE)
        whole = path.read_bytes()
        path.write_bytes(whole + b"half")
        with failing(at, OSError(errno.EIO, "Input/output error")) as found:
            told = complaint(records.set_aside_torn_line, path)
        assert found.failed == (told is not None)
        assert path.read_bytes() in (whole, whole + b"half")
        records.set_aside_torn_line(path)
        assert records.read(path) == [ONE]
        assert b"half\n" in path.with_name("results.jsonl.torn").read_bytes()
        if told is None:
            break
        assert "Input/output error; earlier results are kept" in told
    assert found.calls[-2:] == ["ftruncate", "fsync"]


# --- two processes ---

APPENDING = """
import json, os, pathlib, sys, time
from bison_ocl.experiments.records import results as records
from bison_ocl.experiments.records.record import from_values
write = os.write

def slow(handle, data):
    write(handle, data[:100])
    time.sleep(0.001)
    return 100 + write(handle, data[100:])

os.write = slow
for seed in range(200):
    record = from_values(json.loads(sys.argv[2]) | {"seed": seed})
    records.append(pathlib.Path(sys.argv[1]), record)
"""


def test_a_line_in_the_making_is_neither_cut_nor_taken_for_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    words = [sys.executable, "-c", APPENDING, str(path), json.dumps(ONE_VALUES)]
    process, found = subprocess.Popen(words), 0
    while process.poll() is None:
        assert not records.set_aside_torn_line(path)
        found = max(found, len(records.read(path)), len(records.read_complete(path)))
    assert process.returncode == 0
    assert found > 0
    assert [record.seed for record in records.read(path)] == list(range(200))
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_processes_that_append_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    words = [sys.executable, "-c", APPENDING, str(path), json.dumps(ONE_VALUES)]
    processes = [subprocess.Popen(words) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    seeds = [record.seed for record in records.read(path)]
    assert sorted(seeds) == sorted([*range(200), *range(200)])


def test_a_line_that_a_killed_process_left_is_not_glued_to_the_next(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b'{"schema": 1, "se')
    records.append(path, ONE)
    assert records.read(path) == [ONE, TWO, ONE]
    assert path.with_name("results.jsonl.torn").read_bytes() == b'{"schema": 1, "se\n'


def test_a_file_system_without_locks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()
    with open(path, "ab") as file:
        file.write(b"half")

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    for action in (records.set_aside_torn_line, lambda path: records.append(path, ONE)):
        with pytest.raises(
            UserError, match=r"cannot lock files in .*; choose another --out on a local disk"
        ):
            action(path)
    assert records.read_complete(path) == [ONE, TWO]
    with pytest.raises(UserError, match="truncated line"):
        records.read(path)
    assert path.read_bytes() == before + b"half"

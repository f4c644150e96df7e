"""results.jsonl: whole lines or none, and nothing lost when something breaks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments import records
from tests.experiments.disk import room_for

ONE: dict[str, Any] = {
    "schema": 1,
    "method": "er",
    "data": "split-digits",
    "memory": 20,
    "seed": 0,
    "settings": {},
    "stream": "class-incremental",
    "data_options": {},
    "also": {},
    "class_order": [1, 0],
    "accuracy": [[1.0, 0.0], [0.5, 1.0]],
    "metrics": {"AA": 0.75, "AF": 0.5, "AF_table": 0.25},
    "timing": {},
    "environment": {},
    "text": "é",
}
TWO = ONE | {"seed": 1, "none": None}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    records.append(tmp_path / "results.jsonl", ONE)
    records.append(tmp_path / "results.jsonl", TWO)
    return tmp_path / "results.jsonl"


def test_a_line_a_record(path: Path) -> None:
    assert records.read(path) == [ONE, TWO]
    assert [json.loads(line) for line in path.read_text().splitlines()] == [ONE, TWO]
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
        records.append(path, {"schema": 1, "AA": float("nan")})
    assert path.read_bytes() == before


# --- a torn last line ---


def test_a_torn_line_is_an_error_that_says_what_to_do(path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b'{"schema": 1, "se')
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"cut-off line: run with --resume to set it aside"):
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
        (b"hello", "line 3 is not a result: repair or remove it"),
        (b"[1]", "line 3 is not a result"),
        (b'"schema"', "line 3 is not a result"),
        (b"{}", "line 3 is not a result"),
        (b"\xff\xfe", "line 3 is not a result"),
        (b"null", "line 3 is not a result"),
        (b'{"schema": 2}', "line 3 has schema 2, this version reads 1"),
        (b'{"schema": null}', "line 3 has schema None"),
        (b'{"schema": 1}', "line 3 lacks accuracy, also, .*: repair or remove it"),
        (json.dumps(ONE | {"memory": "20"}).encode(), "line 3 is not a result: memory"),
        (json.dumps(ONE | {"accuracy": [[1.0], 2]}).encode(), "line 3 is not a result"),
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
        records.append(path, ONE | {"long": "x" * 100})
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

"""The journal: what was appended is read back; torn ends are dropped, damage is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bison_ocl import UserError
from bison_ocl.serve.entry import Entry
from bison_ocl.serve.journal import Journal, NotKept
from tests.learners import herd


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.journal"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with closing(Journal(path)) as opened:
        yield opened


def entry(n: int, at: int = 0) -> Entry:
    x, y = herd(n, seed=n)
    ids = [f"camera {i}" for i in range(n)] if n % 2 else None
    return Entry(at, x, ["bison", 7, ("a", None), True][: len(y)] + y[4:], ids)


def equal(one: Entry, other: Entry) -> bool:
    return torch.equal(one.x, other.x) and replace(one, x=0) == replace(other, x=0)


def test_entries_are_read_back_in_order(journal: Journal) -> None:
    wanted = [entry(1), entry(9, 34), entry(4, 40)]
    for one in wanted:
        journal.append(one)
    found = list(journal.entries())
    assert len(found) == 3
    assert all(map(equal, found, wanted))
    journal.clear()
    assert list(journal.entries()) == []
    assert journal.path.stat().st_size == 0


@pytest.mark.parametrize("lost", [1, 2, 50, 1500])
def test_a_torn_last_line_is_dropped(lost: int, journal: Journal) -> None:
    journal.append(entry(2))
    journal.append(entry(8))
    os.truncate(journal.path, journal.size - lost)
    (found,) = journal.entries()
    assert equal(found, entry(2))


def test_a_page_of_zeros_at_the_end_is_dropped(journal: Journal) -> None:
    journal.append(entry(2))
    with journal.path.open("ab") as file:
        file.write(bytes(4096))
    assert len(list(journal.entries())) == 1


def test_damage_before_the_end_is_refused(journal: Journal, path: Path) -> None:
    journal.append(entry(2))
    journal.append(entry(3))
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(UserError, match="damaged before its end: use another copy"):
        list(journal.entries())


def test_a_line_that_could_not_be_read_back_is_refused(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append(entry(8))
    monkeypatch.setattr("bison_ocl.serve.journal.LONGEST", journal.size)
    with pytest.raises(UserError, match=r"more than 2,\d{3} bytes.*send fewer at once"):
        journal.append(entry(10))
    (found,) = journal.entries()
    assert equal(found, entry(8))


def test_a_full_disk_leaves_whole_lines(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    journal.append(entry(2))
    size = journal.size
    with monkeypatch.context() as patch:

        def full(_: int) -> None:
            patch.undo()
            raise OSError(28, "No space left on device")

        patch.setattr("os.fsync", full)
        with pytest.raises(UserError, match="cannot keep the images: No space left on device"):
            journal.append(entry(9))
    assert journal.size == size
    journal.append(entry(3))
    assert [len(one.labels) for one in journal.entries()] == [2, 3]


def test_a_part_that_could_not_be_cut_is_cut_later(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append(entry(2))
    size = journal.size
    with monkeypatch.context() as patch:

        def refuse(*_: int) -> None:
            raise OSError(5, "Input/output error")

        patch.setattr("os.fsync", refuse)
        patch.setattr("os.ftruncate", refuse)
        with pytest.raises(NotKept, match="Input/output error"):
            journal.append(entry(9))
    assert journal.size > size
    journal.append(entry(3))
    assert [len(one.labels) for one in journal.entries()] == [2, 3]


def test_one_process_writes_at_a_time(journal: Journal) -> None:
    with pytest.raises(UserError, match=r"another process works on .*/a: wait"):
        Journal(journal.path)
    journal.close()
    Journal(journal.path).close()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot write .*No such file or directory"):
        Journal(tmp_path / "absent" / "a.journal")

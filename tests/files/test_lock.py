"""Locks: refused where another holds them, few descriptors, nothing left behind."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bison_ocl.errors import UserError
from bison_ocl.files import lock
from bison_ocl.files.lock import claimed, only_one

NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def things(*numbers: int) -> dict[int, str]:
    return {number: f"run {number}" for number in numbers}


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@contextmanager
def descriptors(more: int) -> Iterator[None]:
    """Only so many more may be opened: the limit is on numbers, and those in use leave gaps."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = islice((number for number in count() if not is_open(number)), more)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(free) + 1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("gaps", [False, True])
def test_only_so_many_descriptors_are_left(gaps: bool) -> None:
    with ExitStack() as held:
        taken = [os.dup(0) for _ in range(5)]
        for descriptor in taken:
            held.callback(os.close, descriptor)
        if gaps:
            os.close(taken[1])
            held.callback(os.dup2, 0, taken[1])
        with descriptors(3):
            for _ in range(3):
                held.callback(os.close, os.dup(0))
            with pytest.raises(OSError, match="Too many open files"):
                os.dup(0)


def test_what_another_holds_is_refused_and_the_rest_is_free(tmp_path: Path) -> None:
    path = tmp_path / ".claims"
    with claimed(path, things(1, 2, 2**61)):
        for taken in (1, 2, 2**61):
            message = f"another process works on run {taken}: wait for it or stop it"
            with pytest.raises(UserError, match=message), claimed(path, things(5, taken)):
                pass
        with claimed(path, things(0, 3, 5, 2**61 + 1)):
            pass
        assert path.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / ".claims"
    code = (
        "import sys, pathlib\nfrom bison_ocl.files.lock import claimed\n"
        "with claimed(pathlib.Path(sys.argv[1]), {1: 'it'}):\n"
        "    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(UserError, match="another process works on run 1"), claimed(path, things(1)):
        pass
    process.kill()
    process.communicate()
    assert path.exists()
    with claimed(path, things(1)):
        pass
    assert not path.exists()


def test_thousands_of_claims_take_one_descriptor(tmp_path: Path) -> None:
    with descriptors(3), claimed(tmp_path / ".claims", things(*range(5000))):
        assert [path.name for path in tmp_path.iterdir()] == [".claims"]
    assert list(tmp_path.iterdir()) == []


def test_a_file_removed_while_another_waits_for_it_is_not_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last process leaves between the other's opening and locking: it must open again."""
    path, plain = tmp_path / ".claims", lock.lock_byte
    with ExitStack() as first:
        first.enter_context(claimed(path, things(1)))

        def late(*arguments: Any, **options: Any) -> None:
            monkeypatch.setattr(lock, "lock_byte", plain)
            first.close()
            assert not path.exists()
            plain(*arguments, **options)

        monkeypatch.setattr(lock, "lock_byte", late)
        with claimed(path, things(1)):
            with pytest.raises(UserError, match="another"), claimed(path, things(1)):
                pass
            assert path.exists()
    assert not path.exists()


def test_a_process_that_is_leaving_is_waited_for(tmp_path: Path) -> None:
    """It holds the whole file for the moment in which it removes it."""
    path, held = tmp_path / ".claims", []

    def claim() -> None:
        with claimed(path, things(1)):
            held.append(path.exists())

    leaving = os.open(path, os.O_RDWR | os.O_CREAT)
    lock.lock_byte(leaving, fcntl.F_WRLCK, lock.PRESENCE)
    thread = Thread(target=claim)
    thread.start()
    thread.join(0.2)
    path.unlink()
    os.close(leaving)
    thread.join()
    assert held == [True]


@pytest.mark.parametrize("code", NO_LOCKS)
def test_a_file_system_without_locks(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", fail)
    monkeypatch.setattr(fcntl, "fcntl", fail)
    message = f"cannot lock files in {tmp_path}: .*; choose another --out on a local disk"
    with pytest.raises(UserError, match=message), only_one(tmp_path / ".lock", "it"):
        pass
    with pytest.raises(UserError, match=message), claimed(tmp_path / ".claims", things(1)):
        pass


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / ".claims").mkdir()
    with (
        pytest.raises(UserError, match=r"cannot write .*\.claims: Is a directory"),
        claimed(tmp_path / ".claims", things(1)),
    ):
        pass

"""Files that survive a crash: on the disk before anybody relies on them, replaced in one rename."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

from bison_ocl.errors import UserError, reason


@contextmanager
def telling(path: Path, advice: str) -> Iterator[None]:
    """Say in one line why a file could not be written, and what to do."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}; {advice}") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by another in one rename, durably."""
    if not path.name:
        raise UserError(f"cannot write {path}: name a file in it")
    with telling(path, "free or choose another place"):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = beside(path)
        try:
            with durable(temporary) as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def durable(path: Path) -> Iterator[IO[bytes]]:
    """A new file that is on the disk when the block ends."""
    with open(path, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def check_writable(folder: Path, option: str = "--out") -> None:
    """Fail before an hour of training, not after it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = beside(folder / "probe")
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        where = f"cannot write to {folder}: {reason(error)}"
        raise UserError(f"{where}; choose another {option}") from error


# --- names of files that are being written ---

TEMPORARY = re.compile(r"\..+\.([0-9a-f]{8})-(\d{1,9})-[0-9a-f]{8}\.partial")
"""of what, on which machine, by which process"""
HOUR = 3600.0


def beside(path: Path) -> Path:
    """A temporary name that no other write uses; what killed processes left there is removed."""
    with suppress(OSError):
        for old in path.parent.iterdir():
            if is_abandoned(old):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    name = path.name[:50]  # with the rest it stays within what file systems allow
    return path.with_name(f".{name}.{host()}-{os.getpid()}-{token_hex(4)}.partial")


def is_abandoned(path: Path) -> bool:
    """Whether it is a temporary file that nobody writes: its process is gone, or it is old."""
    owner = TEMPORARY.fullmatch(path.name)
    if owner is None:
        return False
    gone = owner[1] == host() and is_gone(int(owner[2]))
    return gone or time.time() - path.stat().st_mtime > HOUR


def host() -> str:
    """This machine in eight letters: the number of a process says nothing about another one's."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it is another user's
        return False
    return False


# --- several files replaced at once ---
#
# NAME.TOKEN.next is the next content of NAME.SUFFIX, and counts once .TOKEN.commit exists: creating
# that file replaces them all. The renames that follow can be done by a later process as well.


@contextmanager
def replaced_together(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Where to write the next contents of files in one folder: all are replaced, or none is.

    A kill in between leaves work for `settle`.
    """
    if len(paths) == 1:  # written atomically, it needs no more
        yield list(paths)
        return
    folder, token = paths[0].parent, token_hex(8)
    following = [path.with_name(f"{path.stem}.{token}.next") for path in paths]
    try:
        yield following
    except Exception:
        with suppress(OSError):
            for path in following:
                path.unlink(missing_ok=True)
        raise
    with telling(folder, "free or choose another place"):
        commit_of(following[0]).touch()
        sync_folder(folder)
        for path, next_path in zip(paths, following, strict=True):
            os.replace(next_path, path)
        end_commits(folder)


def settle(paths: Sequence[Path]) -> None:
    """Finish or clear away what a kill left of replacing these files, all of one folder."""
    folder, by_stem = paths[0].parent, {path.stem: path for path in paths}
    with telling(folder, "free or choose another place"):
        for following in folder.glob("*.next"):
            path = by_stem.get(following.stem.rpartition(".")[0])
            if path is None:
                continue
            if commit_of(following).exists():
                os.replace(following, path)
            else:
                following.unlink()
        end_commits(folder)


def end_commits(folder: Path) -> None:
    """Remove the commits whose files are all in place."""
    if commits := set(folder.glob(".*.commit")):
        sync_folder(folder)
    for commit in commits - {commit_of(following) for following in folder.glob("*.next")}:
        commit.unlink(missing_ok=True)


def commit_of(following: Path) -> Path:
    return following.with_name(f".{following.stem.rpartition('.')[2]}.commit")

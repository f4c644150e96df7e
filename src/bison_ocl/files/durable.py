"""Crash-safe files: synced to disk before use and replaced by one rename."""

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
def write_errors(path: Path, advice: str) -> Iterator[None]:
    """Turn write errors into one line with advice."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}; {advice}") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file durably and rename it into place."""
    if not path.name:
        raise UserError(f"cannot write {str(path)!r}: it names no file; give a file name")
    if path.exists() and not path.is_file() and not path.is_dir():
        # A rename would replace a device or a pipe, such as /dev/null, for every program.
        raise UserError(f"cannot write {path}: not a regular file; choose another file")
    with write_errors(path, "free or choose another place"):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_name(path)
        try:
            with durable(temporary) as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:  # an interrupt must not leave contents behind either
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that renames in it survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def durable(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that is synced to disk at the end of the block."""
    with open(path, "xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def check_writable(folder: Path, option: str = "--out") -> None:
    """Fail before the training, not after it, if a folder is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = temporary_name(folder / "probe")
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        where = f"cannot write to {folder}: {reason(error)}"
        raise UserError(f"{where}; choose another {option}") from error


# --- names of files that are being written ---

TEMPORARY = re.compile(
    r"\.(?P<name>.+)\.(?P<machine>[0-9a-f]{8})-(?P<process>\d{1,9})-[0-9a-f]{8}\.partial"
)
"""the file's name, shortened, and who writes it"""
HOUR = 3600.0
STARTED = time.time()
"""when this process began; in a container the next one may have the same number"""
CLOCK = 0.1
"""seconds by which a file system's clock may lag"""


def temporary_name(path: Path) -> Path:
    """A unique temporary name next to a path; removes files that killed processes left."""
    with suppress(OSError):
        for old in path.parent.iterdir():
            if is_abandoned(old):
                remove(old)
    return path.with_name(f".{short_name(path)}.{host()}-{os.getpid()}-{token_hex(4)}.partial")


def remove_temporary(path: Path) -> None:
    """Remove what any process left of a path that only the caller may write."""
    with write_errors(path.parent, "remove its hidden files *.partial"):
        for old in path.parent.iterdir():
            owner = TEMPORARY.fullmatch(old.name)
            if owner is not None and owner["name"] == short_name(path):
                remove(old)


def remove(path: Path) -> None:
    """Remove a file, or a folder with what is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def short_name(path: Path) -> str:
    """A file's name within temporary ones, which must fit file systems; a long one is hashed."""
    name = path.name
    return name if len(name) <= 50 else f"{name[:50]}-{zlib.crc32(os.fsencode(name)):08x}"


def is_abandoned(path: Path) -> bool:
    """Whether a temporary file is abandoned: its process is gone, or it is old."""
    owner = TEMPORARY.fullmatch(path.name)
    if owner is None:
        return False
    written, process = path.stat().st_mtime, int(owner["process"])
    reused = process == os.getpid() and written < STARTED - CLOCK
    gone = owner["machine"] == host() and (reused or is_gone(process))
    return gone or time.time() - written > HOUR


def host() -> str:
    """This machine in eight letters, because process numbers are valid on one machine only."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it belongs to another user
        return False
    return False


# --- several files replaced at once ---
#
# NAME.TOKEN.next is the next content of NAME.SUFFIX. Creating .TOKEN.commit replaces all files at
# once; the renames that follow can also be done by a later process.


@contextmanager
def replaced_together(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Yield paths for the next contents of files in one folder; all are replaced, or none.

    After a kill in between, `settle` finishes the work.
    """
    if len(paths) == 1:  # an atomic write suffices
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
    with write_errors(folder, "free or choose another place"):
        commit_of(following[0]).touch()
        sync_folder(folder)
        for path, next_path in zip(paths, following, strict=True):
            os.replace(next_path, path)
        end_commits(folder)


def settle(paths: Sequence[Path]) -> None:
    """Finish or undo an interrupted replacement of these files, all in one folder."""
    folder, by_stem = paths[0].parent, {path.stem: path for path in paths}
    with write_errors(folder, "free or choose another place"):
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
    """Remove commit files whose renames are complete."""
    if commits := set(folder.glob(".*.commit")):
        sync_folder(folder)
    for commit in commits - {commit_of(following) for following in folder.glob("*.next")}:
        commit.unlink(missing_ok=True)


def commit_of(following: Path) -> Path:
    return following.with_name(f".{following.stem.rpartition('.')[2]}.commit")

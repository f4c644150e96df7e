"""results.jsonl: one JSON line per finished run, appended whole or not at all."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bison_ocl.errors import UserError, reason
from bison_ocl.experiments.records.record import SCHEMA, Record, as_values, from_values
from bison_ocl.experiments.records.schema import NEEDED, Values, faults, misfits
from bison_ocl.experiments.records.upgrade import upgraded
from bison_ocl.files.durable import sync_folder, write_errors
from bison_ocl.files.lock import needing_locks

RESULTS = "results.jsonl"


def append(path: Path, record: Record) -> None:
    """Append a line durably; a partial write (full disk) is undone."""
    data = json.dumps(as_values(record), allow_nan=False).encode() + b"\n"
    with write_errors(path, "earlier results are kept"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with opened_alone(path) as handle:
            set_aside_end(handle, path)
            add(handle, data, path.parent)


@contextmanager
def opened_alone(path: Path) -> Iterator[int]:
    """Open a file under an exclusive lock."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        with needing_locks(path.parent):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def add(handle: int, data: bytes, folder: Path) -> None:
    """Append data durably, all of it or nothing."""
    before = os.fstat(handle).st_size
    try:
        if os.write(handle, data) < len(data):
            raise OSError("no space left")
        os.fsync(handle)
        if not before:
            sync_folder(folder)
    except OSError:
        with suppress(OSError):
            os.ftruncate(handle, before)
        raise


def check_appendable(path: Path) -> None:
    """Fail before the training if its record could not be written."""
    try:
        if path.exists():
            open(path, "ab").close()
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}; choose another --out") from error


def read(path: Path) -> list[Record]:
    """All records of a file; none if it does not exist."""
    lines, torn = split(path)
    if torn:
        raise UserError(f"{path} ends in a truncated line: use --resume to move it away")
    return parsed(lines, path)


def read_complete(path: Path) -> list[Record]:
    """The records of a file, without a truncated last line."""
    return parsed(split(path)[0], path)


def split(path: Path) -> tuple[list[bytes], bytes]:
    """The complete lines of a file and a truncated last one; waits for a line being written."""
    data = contents(path)
    if data and not data.endswith(b"\n"):
        with suppress(OSError), open(path, "rb") as file:  # no waiting without locks
            fcntl.flock(file, fcntl.LOCK_SH)
            data = file.read()
    *lines, last = data.split(b"\n")
    return ([*lines, last], b"") if is_whole(last) else (lines, last)


def is_whole(last: bytes) -> bool:
    """Whether a last line lacks only its end, as some editors leave it.

    A part of a JSON object is never JSON itself.
    """
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        return False
    return True


def parsed(lines: Iterable[bytes], path: Path) -> list[Record]:
    """The records of lines; empty lines are skipped."""
    return [parse(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]


def contents(path: Path) -> bytes:
    """The bytes of a file; none if it does not exist."""
    try:
        return path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise UserError(f"cannot read {path}: {reason(error)}; fix it or move it away") from error


def parse(line: bytes, path: Path, number: int) -> Record:
    """One line as a record, upgraded to the current schema."""
    where = f"{path} line {number}"
    try:
        values: Values = json.loads(line, parse_constant=refuse)
        schema = values["schema"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{where} is not a result: repair or remove that line") from error
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise UserError(
            f"{where} has schema {schema}, this version reads 1 to {SCHEMA}: "
            "move the file away, or choose another folder"
        )
    return from_values(upgraded(checked(values, where)))


def refuse(constant: str) -> None:
    """Refuse NaN and infinities, which are not JSON."""
    raise ValueError(constant)


def checked(values: Values, where: str) -> Values:
    """The values of a line, refused if they do not form a record."""
    if missing := sorted(NEEDED.keys() - values.keys()):
        raise UserError(f"{where} lacks {', '.join(missing)}: repair or remove that line")
    if wrong := list(faults(values)) or list(misfits(values)):
        raise UserError(f"{where} is not a result: {', '.join(wrong)}: repair or remove that line")
    return values


def set_aside_torn_line(path: Path) -> bool:
    """Move a truncated last line to a separate file; whether there was one."""
    if not split(path)[1]:
        return False
    with write_errors(path, "earlier results are kept"), opened_alone(path) as handle:
        return set_aside_end(handle, path)


def set_aside_end(handle: int, path: Path) -> bool:
    """Move a truncated end away, or end a whole line, in a locked file that nobody else writes."""
    size = os.fstat(handle).st_size
    if not size or os.pread(handle, 1, size - 1) == b"\n":
        return False
    data = contents(path)
    keep = data.rfind(b"\n") + 1
    if is_whole(data[keep:]):
        add(handle, b"\n", path.parent)
        return False
    with opened_alone(path.with_name(f"{path.name}.torn")) as torn:
        add(torn, data[keep:] + b"\n", path.parent)
    os.ftruncate(handle, keep)
    os.fsync(handle)
    return True

"""results.jsonl: one JSON line a finished run, appended whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bison_ocl.errors import UserError, reason

SCHEMA = 1

Record = dict[str, Any]

RESULTS = "results.jsonl"


def append(path: Path, record: Record) -> None:
    """Add a line durably; a write that fails half-way (a full disk) is taken back."""
    data = json.dumps(record, allow_nan=False).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            before = os.fstat(handle).st_size
            if os.write(handle, data) < len(data):
                os.ftruncate(handle, before)
                raise OSError("no space left")
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        why = reason(error)
        raise UserError(f"cannot write {path}: {why}; earlier results are kept") from error


def read(path: Path) -> list[Record]:
    """All records of a file; none if it does not exist."""
    lines = contents(path).split(b"\n")
    if lines.pop():
        raise UserError(f"{path} ends in a cut-off line: run with --resume to set it aside")
    return parsed(lines, path)


def whole(path: Path) -> list[Record]:
    """The records of a file without a last line that is cut off, or is being written right now."""
    return parsed(contents(path).split(b"\n")[:-1], path)


def parsed(lines: Iterable[bytes], path: Path) -> list[Record]:
    return [parse(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]


def contents(path: Path) -> bytes:
    """The bytes of a file; none if it does not exist."""
    try:
        return path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise UserError(f"cannot read {path}: {reason(error)}; move it away") from error


def parse(line: bytes, path: Path, number: int) -> Record:
    """One line as a record of the schema this version writes."""
    try:
        record: Record = json.loads(line)
        schema = record["schema"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} line {number} is not a result: repair or remove it") from error
    if schema != SCHEMA:
        raise UserError(
            f"{path} line {number} has schema {schema}, this version reads {SCHEMA}: "
            "move the file away, or choose another folder"
        )
    return record


def set_aside_torn_line(path: Path) -> bool:
    """Move a cut-off last line to a file of its own; whether there was one."""
    data = contents(path)
    keep = data.rfind(b"\n") + 1
    if keep == len(data):
        return False
    try:
        with open(path.with_name(f"{path.name}.torn"), "ab") as torn:
            torn.write(data[keep:] + b"\n")
            torn.flush()
            os.fsync(torn.fileno())
        os.truncate(path, keep)
    except OSError as error:
        raise UserError(f"cannot set aside the end of {path}: {reason(error)}") from error
    return True

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

NEEDED: dict[str, type] = {
    "method": str,
    "data": str,
    "memory": int,
    "seed": int,
    "settings": dict,
    "stream": str,
    "data_options": dict,
    "also": dict,
    "class_order": list,
    "accuracy": list,
    "metrics": dict,
    "timing": dict,
    "environment": dict,
}
"""What a record must hold to count as one."""
MEASURED = ("AA", "AF", "AF_table")
"""metrics that every record has"""


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


def check_appendable(path: Path) -> None:
    """Fail before an hour of training if its record could not be written."""
    try:
        if path.exists():
            open(path, "ab").close()
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}; choose another --out") from error


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
    """Lines of a file as records; empty ones are none."""
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
    return checked(record, f"{path} line {number}")


def checked(record: Record, where: str) -> Record:
    """A record that holds what its readers need."""
    if missing := sorted(NEEDED.keys() - record.keys()):
        raise UserError(f"{where} lacks {', '.join(missing)}: repair or remove it")
    wrong = [name for name, kind in NEEDED.items() if not isinstance(record[name], kind)]
    wrong += [name for name in MEASURED if not is_number(record["metrics"].get(name))]
    if wrong:
        raise UserError(f"{where} is not a result: {', '.join(wrong)}: repair or remove it")
    from bison_ocl.evaluate.metrics import average_accuracy  # it needs numpy

    try:
        average_accuracy(record["accuracy"])
    except (ValueError, TypeError) as error:
        raise UserError(f"{where} is not a result: {error}: repair or remove it") from error
    return record


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


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

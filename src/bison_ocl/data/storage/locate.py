"""Find a dataset's folder or archive in the data folder by its usual names."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from bison_ocl.errors import UserError, reason


def locate(place: Path, names: Collection[str], marks: Collection[str], advice: str) -> Path:
    """The entry of `place` with one of these names, or `place` itself if it holds a mark.

    Names are compared without case, `-`, `_` and `.zip`; folders take precedence over archives.
    """
    try:
        entries = sorted(place.iterdir(), key=lambda entry: (entry.is_file(), entry.name))
    except FileNotFoundError as error:
        raise UserError(f"{advice} (there is no folder {place})") from error
    except OSError as error:
        raise UserError(f"cannot read the data folder {place}: {reason(error)}") from error
    for entry in entries:
        if simple(entry.name) in names and (entry.is_dir() or entry.suffix.lower() == ".zip"):
            return entry
    if simple(place.name) in names or any(entry.name in marks for entry in entries):
        return place
    raise UserError(f"{advice} (looked in {place})")


def simple(name: str) -> str:
    """A name without case, separators and `.zip`."""
    return re.sub(r"[-_ ]", "", name.lower().removesuffix(".zip"))

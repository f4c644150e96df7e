"""Folders of datasets and their caches."""

from __future__ import annotations

import os
from pathlib import Path

from bison_ocl.errors import UserError


def data_folder(chosen: str | Path | None = None) -> Path:
    """The data folder: --data-dir, $BISON_OCL_DATA, or a folder in the user's cache."""
    if chosen:
        return in_home(chosen, "give --data-dir")
    if chosen := os.environ.get("BISON_OCL_DATA"):
        return in_home(chosen, "set BISON_OCL_DATA to")
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return in_home(caches, "set BISON_OCL_DATA, or --data-dir, to") / "bison-ocl"


def cache_folder(chosen: str | Path | None = None) -> Path:
    """The cache folder: $BISON_OCL_CACHE, for read-only data, or `cache` in the data folder."""
    elsewhere = os.environ.get("BISON_OCL_CACHE")
    if elsewhere:
        return in_home(elsewhere, "set BISON_OCL_CACHE to")
    data = data_folder(chosen)
    return (data.parent if data.is_file() else data) / "cache"


def in_home(path: str | Path, advice: str) -> Path:
    """A path with `~` expanded, refused in one line if there is no home folder."""
    try:
        if Path(path).parts[:1] == ("~",) and os.environ.get("HOME") == "":
            raise RuntimeError("HOME is empty")
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UserError(f"no home folder for '{path}': {advice} a path without `~`") from error

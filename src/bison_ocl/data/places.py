"""Where datasets and their caches lie."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder(chosen: str | Path | None = None) -> Path:
    """--data-dir, else $BISON_OCL_DATA, else a folder in the user's cache."""
    if chosen or (chosen := os.environ.get("BISON_OCL_DATA")):
        return Path(chosen).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches).expanduser() / "bison-ocl"


def cache_folder(chosen: str | Path | None = None) -> Path:
    """$BISON_OCL_CACHE, for data that cannot be written beside, else `cache` in the data folder."""
    elsewhere = os.environ.get("BISON_OCL_CACHE")
    if elsewhere:
        return Path(elsewhere).expanduser()
    data = data_folder(chosen)
    return (data.parent if data.is_file() else data) / "cache"

"""The commit of the running source: of a checkout, or of the one that a wheel was built from."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

COMMIT = "BISON_OCL_COMMIT"
PACKAGE = Path(__file__).parents[2]
BUILT = "commit.txt"
"""the file in the package that `tools/build_backend.py` writes into wheels and source archives"""


@cache
def commit() -> str | None:
    """The commit, with +changed if the source was edited after it; None if nobody knows.

    BISON_OCL_COMMIT gives the commit of a copy without git history.
    """
    return os.environ.get(COMMIT) or commit_of(PACKAGE) or built_from(PACKAGE)


def commit_of(folder: Path) -> str | None:
    """The commit of a folder's contents; a new file counts as an edit."""
    try:
        head = _git(folder, "rev-parse", "HEAD")
        tracked = _git(folder, "ls-files", ".")
        changed = _git(folder, "status", "--porcelain", ".")
    except (OSError, subprocess.CalledProcessError):
        return None
    if not tracked:  # installed inside another project's checkout
        return None
    return f"{head}+changed" if changed else head


def built_from(folder: Path) -> str | None:
    """The commit that a wheel or source archive was built from."""
    try:
        return (folder / BUILT).read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

"""Build wheels and source archives that know their commit; setuptools does the rest.

The commit goes into src/bison_ocl/commit.txt while the archive is built. A wheel built from a
source archive, which has no git history, keeps the file that the archive brought.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

FILE = Path("src", "bison_ocl", "commit.txt")


def build_wheel(*arguments: Any, **options: Any) -> str:
    """The hook of PEP 517 for a wheel."""
    with commit_written():
        return str(build_meta.build_wheel(*arguments, **options))


def build_sdist(*arguments: Any, **options: Any) -> str:
    """The hook of PEP 517 for a source archive."""
    with commit_written():
        return str(build_meta.build_sdist(*arguments, **options))


@contextmanager
def commit_written() -> Iterator[None]:
    """Keep the commit in a file of the package inside the block."""
    found = os.environ.get("BISON_OCL_COMMIT") or checked_out()
    if found is None:
        yield
        return
    FILE.write_text(f"{found}\n")
    try:
        yield
    finally:
        FILE.unlink()


def checked_out() -> str | None:
    """The commit of this checkout, with +changed if tracked files were edited."""
    try:
        root = git("rev-parse", "--show-toplevel")
        changed = git("status", "--porcelain", "--untracked-files=no")
        head = git("rev-parse", "HEAD")
    except (OSError, subprocess.CalledProcessError):
        return None
    if Path(root).resolve() != Path.cwd().resolve():  # a copy inside another checkout
        return None
    return f"{head}+changed" if changed else head


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], check=True, capture_output=True, text=True
    ).stdout.strip()

"""Provenance of a record: versions, machine and commit."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import torch

from bison_ocl.experiments.records.record import Environment
from bison_ocl.processor import cpu_name

COMMIT = "BISON_OCL_COMMIT"
PACKAGE = Path(__file__).parents[2]


def environment(device: str) -> Environment:
    """Software and hardware of this process."""
    cuda = torch.device(device).type == "cuda"
    return Environment(
        device=torch.cuda.get_device_name(device) if cuda else cpu_name(),
        device_type=torch.device(device).type,
        threads=torch.get_num_threads(),
        bison_ocl=installed(),
        python=platform.python_version(),
        torch=str(torch.__version__),
        numpy=np.__version__,
        platform=f"{platform.system()} {platform.machine()}",
    )


def installed() -> str | None:
    """The installed version; None if the source runs uninstalled."""
    try:
        return version("bison-ocl")
    except PackageNotFoundError:
        return None


@cache
def commit() -> str | None:
    """The commit of the running source, with +changed if edited; None if installed.

    BISON_OCL_COMMIT gives the commit of a copy without git history.
    """
    return os.environ[COMMIT] if COMMIT in os.environ else commit_of(PACKAGE)


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


def _git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

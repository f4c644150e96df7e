"""The version that records and exported models name."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed() -> str | None:
    """The installed version; None if the source runs uninstalled."""
    try:
        return version("bison-ocl")
    except PackageNotFoundError:
        return None

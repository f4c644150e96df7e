"""Images in an archive that is opened only if no cache holds them.

Listing an archive of 120,000 members takes seconds; size and time suffice to detect changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bison_ocl.data.reading import decode
from bison_ocl.data.sources.pictures import Pictures
from bison_ocl.data.sources.source import Images, Labels, Layout, Split


@dataclass
class Deferred:
    """An archive, the rules for reading it, and the function that reads it."""

    name: str
    archive: Path
    rules: dict[str, Any]
    read: Callable[[], Pictures]

    @property
    def paths(self) -> list[Path]:
        """The file whose checksum can be compared."""
        return [self.archive]

    @cached_property
    def pictures(self) -> Pictures:
        return self.read()

    def fingerprint(self) -> dict[str, Any]:
        """The rules, and the archive's size and time."""
        about = self.archive.stat()
        file = {"size": about.st_size, "time": about.st_mtime_ns}
        return {**self.rules, "decoding": decode.VERSION, "archive": file}

    def layout(self) -> Layout:
        return self.pictures.layout()

    def images(self, split: Split) -> Iterator[tuple[Images, Labels]]:
        """All images of a split, in the archive's order."""
        return self.pictures.images(split)

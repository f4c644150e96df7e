"""Files of a folder or of a .tar.gz archive of that folder, opened by name.

An archive's members are never written under their own names: it is decompressed once, as one
nameless temporary file, in which they can be reached in any order.
"""

from __future__ import annotations

import errno
import gzip
import shutil
import tarfile
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any

from bison_ocl.errors import UserError

BROKEN = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True)
class Folder:
    """An unpacked archive."""

    path: Path

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def title(self, name: str) -> str:
        return str(self.path / name)

    def stamp(self, names: tuple[str, ...]) -> list[Any]:
        """What changes when the files do; a missing one is an error."""
        files = [(name, self.existing(name).stat()) for name in names]
        return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in files]

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        with open(self.existing(name), "rb") as file:
            yield file

    def existing(self, name: str) -> Path:
        if not self.has(name):
            raise UserError(f"{self.title(name)} is missing: unpack the official archive again")
        return self.path / name


@dataclass(frozen=True)
class Archive:
    """A .tar.gz file, all of whose members must lie in one folder."""

    path: Path
    folder: str

    def has(self, name: str) -> bool:
        return name in self.members

    def title(self, name: str) -> str:
        return f"{self.path}:{self.folder}/{name}"

    def stamp(self, names: tuple[str, ...]) -> list[Any]:
        """What changes when the archive does; its members are not looked at."""
        stat = self.path.stat()
        return [[self.path.name, stat.st_size, stat.st_mtime_ns]]

    @cached_property
    def members(self) -> dict[str, tarfile.TarInfo]:
        """The files by name, once the archive is known to be whole and harmless."""
        try:
            with self.tar() as tar:
                found = {self.inside(member): member for member in tar}
        except BROKEN as error:
            raise UserError(
                f"{self.path} is cut off or damaged: remove it and fetch it again"
            ) from error
        return {name: member for name, member in found.items() if name}

    @cached_property
    def unpacked(self) -> IO[bytes]:
        """The archive without compression; reading to the end has checked its checksum."""
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the archive
        weakref.finalize(self, file.close)
        try:
            with gzip.open(self.path) as stream:
                shutil.copyfileobj(stream, file, 1 << 20)
            file.flush()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise UserError(
                f"no room to decompress {self.path} in {tempfile.gettempdir()}: "
                "free it, or set TMPDIR to a folder with room"
            ) from error
        return file

    @contextmanager
    def tar(self) -> Iterator[tarfile.TarFile]:
        """The archive from its start."""
        self.unpacked.seek(0)
        with tarfile.open(fileobj=self.unpacked, mode="r:") as tar:
            yield tar

    def inside(self, member: tarfile.TarInfo) -> str:
        """The name of a member within the folder, empty for a folder; any other is refused."""
        name = PurePosixPath(member.name)
        away = name.parts[:1] not in ((), (self.folder,)) or ".." in name.parts
        if away or not (member.isdir() or (member.isreg() and len(name.parts) > 1)):
            raise UserError(
                f"refused to read {self.path}: {member.name!r} is no file inside {self.folder}/; "
                "use the official archive"
            )
        return "" if member.isdir() else str(name.relative_to(self.folder))

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        if not self.has(name):
            raise UserError(f"{self.title(name)} is missing: use the official archive")
        with self.tar() as tar:
            file = tar.extractfile(self.members[name])
            assert file is not None
            yield file

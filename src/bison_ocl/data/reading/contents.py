"""Files of a folder or of a .tar.gz archive of that folder, opened by name.

An archive is decompressed once, to an unnamed temporary file of at most MOST bytes, which gives
access to its members in any order. Members are never written under their own names.
"""

from __future__ import annotations

import errno
import gzip
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path, PurePosixPath
from tarfile import AREGTYPE, REGTYPE, TarError, TarInfo
from typing import IO, Any

from bison_ocl.data.reading.budget import Budget, open_regular
from bison_ocl.data.reading.tar import members
from bison_ocl.errors import UserError

BROKEN = (TarError, EOFError, zlib.error, gzip.BadGzipFile)
MOST = 1 << 30
"""bytes of a file, and of a decompressed archive; CIFAR has 190 MB"""
CHUNK = 1 << 20


@dataclass(frozen=True)
class UnpackedFolder:
    """An unpacked archive."""

    path: Path

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def title(self, name: str) -> str:
        return str(self.path / name)

    def stamp(self, names: tuple[str, ...], optional: str) -> list[Any]:
        """A value that changes with the files; a missing one is an error, but for the last."""
        found = (*names, optional) if self.has(optional) else names
        files = [(name, self.existing(name).stat()) for name in found]
        return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in files]

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        with open_regular(self.existing(name), MOST) as file:
            yield file

    def existing(self, name: str) -> Path:
        if not self.has(name):
            raise UserError(f"{self.title(name)} is missing: unpack the official archive again")
        return self.path / name


@dataclass(frozen=True)
class TarArchive:
    """A .tar.gz file, all of whose members must lie in one folder."""

    path: Path
    folder: str

    def has(self, name: str) -> bool:
        return name in self.members

    def title(self, name: str) -> str:
        return f"{self.path}:{self.folder}/{name}"

    def stamp(self, names: tuple[str, ...], optional: str) -> list[Any]:
        """A value that changes with the archive, without reading its members."""
        stat = self.path.stat()
        return [[self.path.name, stat.st_size, stat.st_mtime_ns]]

    @cached_property
    def members(self) -> dict[str, tuple[int, int]]:
        """Start and size of each file by name, after the checksum of the archive holds."""
        try:
            found = {
                self.inside(header): (start, header.size)
                for header, start in members(self.unpacked)
            }
        except BROKEN as error:
            raise UserError(
                f"{self.path} is truncated or damaged: remove it and fetch it again"
            ) from error
        return {name: place for name, place in found.items() if name}

    @cached_property
    def unpacked(self) -> IO[bytes]:
        """The decompressed archive; gzip verifies its checksum at the end."""
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the archive
        weakref.finalize(self, file.close)
        over = f"{self.path} unpacks to more than {MOST:,} bytes: use the official archive"
        budget = Budget(MOST, UserError(over))
        try:
            with open_regular(self.path, MOST) as packed, gzip.open(packed) as stream:
                while chunk := stream.read(CHUNK):
                    budget.spend(len(chunk))
                    file.write(chunk)
            file.flush()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise UserError(
                f"no space to decompress {self.path} in {tempfile.gettempdir()}: "
                "free space, or set TMPDIR to another folder"
            ) from error
        return file

    def inside(self, member: TarInfo) -> str:
        """The name of a member inside the folder, empty for a folder; others are refused."""
        name = PurePosixPath(member.name)
        away = name.parts[:1] not in ((), (self.folder,)) or ".." in name.parts
        plain = member.type in (REGTYPE, AREGTYPE) and len(name.parts) > 1
        if away or not (member.isdir() or plain):
            raise UserError(
                f"refused to read {self.path}: {member.name!r} is not a file in {self.folder}/; "
                "use the official archive"
            )
        return "" if member.isdir() else str(name.relative_to(self.folder))

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        if not self.has(name):
            raise UserError(f"{self.title(name)} is missing: use the official archive")
        start, size = self.members[name]
        self.unpacked.seek(start)
        yield BytesIO(self.unpacked.read(size))

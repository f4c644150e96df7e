"""List the files in a folder or a zip archive, with stamps that reveal changes.

Nothing is unpacked: an archive is read member by member, up to the sizes in its directory. Hidden
and system files (Thumbs.db, desktop.ini, __MACOSX) are not listed. Links are followed.
"""

from __future__ import annotations

import os
import re
import stat
import weakref
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bison_ocl.data.reading.budget import Budget, open_regular, read_regular
from bison_ocl.errors import UserError, reason

LEFT_BEHIND = frozenset({"thumbs.db", "desktop.ini", "__macosx"})
DEEPEST = 16
LARGEST = 256 * 2**20
"""bytes of an image; a larger file is refused before it is read"""
LARGEST_ARCHIVE = 1 << 40
LARGEST_DIRECTORY = 1 << 27
"""bytes of a zip archive's directory, enough for a million images; Tiny-ImageNet's has 12 MB"""
MOST_UNPACKED, MOST_RATIO = 1 << 30, 100
"""limit of unpacked bytes, plus this many per packed byte: images hardly compress"""
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""allowed compressions; the others cannot be unpacked in pieces"""
CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
"""characters that break a line or control a terminal"""

Stamp = tuple[int, int]
"""Size of a file and its modification time in ns or, in an archive, its checksum. A plain tuple,
because there are 100,000 of them."""


@dataclass(frozen=True)
class Listing:
    """The files and folders in a place, by sorted relative names with `/`; empty folders too."""

    place: Path
    files: dict[str, Stamp]
    folders: frozenset[str]

    def path(self, name: str) -> str:
        """The full path of a file, for messages."""
        return f"{self.place}/{name}" if name else str(self.place)

    def size(self, name: str) -> int:
        """The size of a file in bytes."""
        return self.files[name][0]

    def read(self, name: str) -> bytes:
        """The content of a file."""
        if self.size(name) > LARGEST:
            raise UserError(f"{self.path(name)} is larger than {LARGEST >> 20} MiB: remove it")
        return self.content(name)

    def content(self, name: str) -> bytes:
        """The content of a file in a folder."""
        return read_regular(self.place / name, LARGEST)

    def text(self, name: str) -> list[str]:
        """The lines of a text file."""
        try:
            return self.read(name).decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise UserError(f"{self.path(name)} is not a UTF-8 text file: replace it") from error


@dataclass(frozen=True)
class ZipArchive(Listing):
    """Files of a zip archive; names omit a single top folder."""

    archive: zipfile.ZipFile
    top: str

    def content(self, name: str) -> bytes:
        """The content of a member, up to its size in the directory, as data may never end."""
        member = self.archive.getinfo(self.top + name)
        if member.compress_type not in METHODS:
            raise UserError(f"{self.path(name)} has an unsupported compression: pack it again")
        try:
            with self.archive.open(member) as file:
                return file.read(member.file_size)
        # A damaged archive can end in almost any exception.
        except Exception as error:
            raise UserError(
                f"{self.path(name)} cannot be unpacked ({error}): get it again"
            ) from error


def listing(place: Path, skip: tuple[str, ...] = ()) -> Listing:
    """The listing of a folder or zip archive, except entries to skip."""
    if os.path.isfile(place):
        return listed_archive(place, skip)
    if not os.path.isdir(place):
        raise UserError(f"no folder {place}: check the path")
    found = dict(below(place, skip))
    files = {name: stamp for name in sorted(found) if (stamp := found[name]) is not None}
    return Listing(place, files, frozenset(found.keys() - files.keys()))


def below(place: Path, skip: tuple[str, ...]) -> Iterator[tuple[str, Stamp | None]]:
    """Every file with its stamp and every folder with None."""
    waiting = [""]
    try:
        while waiting:
            folder = waiting.pop()
            if folder.count("/") > DEEPEST:
                raise UserError(f"{place}/{folder} is too deep: remove links to parent folders")
            with os.scandir(f"{place}/{folder}") as entries:
                for entry in entries:
                    name = folder + entry.name
                    if left_behind(entry.name) or name in skip:
                        continue
                    plain_name(place, name)
                    if inner := entry.is_dir():
                        waiting.append(f"{name}/")
                    yield name, None if inner else stamp_of(entry)
    except OSError as error:
        raise UserError(f"cannot read {error.filename}: {reason(error)}") from error


def stamp_of(entry: os.DirEntry[str]) -> Stamp:
    """Size and time of a plain file; reading a pipe or device could block forever."""
    about = entry.stat()
    if not stat.S_ISREG(about.st_mode):
        raise UserError(f"{entry.path} is not a plain file: remove it")
    return about.st_size, about.st_mtime_ns


def left_behind(name: str) -> bool:
    """Whether a file is hidden or written by a system."""
    return name.startswith(".") or name.lower() in LEFT_BEHIND


def listed_archive(place: Path, skip: tuple[str, ...]) -> Listing:
    """The members of a zip archive."""
    archive = opened(place)
    shown = {
        member.filename: member
        for member in sorted(archive.infolist(), key=lambda member: member.filename)
        if not any(left_behind(part) for part in member.filename.split("/"))
    }
    top = top_folder(shown)
    members = {name.removeprefix(top): member for name, member in shown.items()}
    members = {name: each for name, each in members.items() if name.split("/")[0] not in skip}
    folders = {parent for name in members for parent in parents(name)}
    files = {
        name: (member.file_size, member.CRC)
        for name, member in members.items()
        if name and not member.is_dir()
    }
    return ZipArchive(place, files, frozenset(folders), archive, top)


def opened(place: Path) -> zipfile.ZipFile:
    """Open a zip archive whose directory is complete and within its budget."""
    file = open_regular(place, LARGEST_ARCHIVE, at_once=LARGEST_DIRECTORY)
    try:
        archive = zipfile.ZipFile(file)
        weakref.finalize(archive, file.close)
    # A damaged directory can end in almost any exception.
    except Exception as error:
        file.close()
        raise UserError(
            f"{place} is not a complete zip archive ({error}): "
            "get it again, or unpack another kind of archive"
        ) from error
    most = MOST_UNPACKED + MOST_RATIO * place.stat().st_size
    budget = Budget(most, UserError(f"{place} unpacks to more than {most:,} bytes: get it again"))
    for member in archive.infolist():
        budget.spend(member.file_size)
        plain_name(place, member.filename)
    return archive


def plain_name(place: Path, name: str) -> None:
    """Refuse a name with a control character."""
    if CONTROL.search(name):
        raise UserError(f"{place}: {name!r} has a control character in its name: rename it")


def top_folder(names: dict[str, zipfile.ZipInfo]) -> str:
    """The single top folder of an archive, with its `/`; empty if there is none."""
    tops = {name.split("/")[0] for name in names}
    return f"{tops.pop()}/" if len(tops) == 1 and all("/" in name for name in names) else ""


def parents(name: str) -> Iterator[str]:
    """The folders above a name, and the folder itself if the name ends with `/`."""
    parts = name.split("/")[:-1]
    return ("/".join(parts[: depth + 1]) for depth in range(len(parts)))

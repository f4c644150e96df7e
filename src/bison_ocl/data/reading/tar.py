"""Find the files and folders of a tar archive in one pass over its headers.

Python's tarfile unpacks sparse files (345 bytes become gigabytes) and, before 3.11.14, loops at a
negative size. Official archives hold plain files and folders: here the size in a header must lie
within the archive, and an extended header must not change a name or a size.
"""

from __future__ import annotations

from collections.abc import Iterator
from tarfile import BLOCKSIZE, XGLTYPE, XHDTYPE, ReadError, TarInfo
from typing import IO

from bison_ocl.data.reading.budget import Budget

MOST_MEMBERS = 10_000
MOST_EXTENDED = 1 << 16
"""bytes of an extended header"""
CHANGES = (b"path=", b"size=", b"GNU.sparse")
"""forbidden contents of an extended header; times and owners are harmless"""


def members(file: IO[bytes]) -> Iterator[tuple[TarInfo, int]]:
    """Every header of an archive, and the start of its content."""
    headers = Budget(MOST_MEMBERS, ReadError(f"more than {MOST_MEMBERS:,} members"))
    end, start = file.seek(0, 2), 0
    if not end:
        raise ReadError("no bytes")
    while block := header_block(file, start):
        headers.spend()
        header = TarInfo.frombuf(block, "utf-8", "surrogateescape")
        start += BLOCKSIZE
        size = 0 if header.isdir() else header.size
        if not 0 <= size <= end - start:
            raise ReadError(f"{header.name!r} has {size:,} bytes")
        if header.type in (XHDTYPE, XGLTYPE):
            check_extended(file.read(min(size, MOST_EXTENDED + 1)))
        else:
            yield header, start
        start += -(-size // BLOCKSIZE) * BLOCKSIZE


def header_block(file: IO[bytes], start: int) -> bytes:
    """The next header; empty at the end, which is a block of zeros or the end of the file."""
    file.seek(start)
    block = file.read(BLOCKSIZE)
    return block if block.strip(b"\0") else b""


def check_extended(content: bytes) -> None:
    """Refuse an extended header that changes a name or a size."""
    if len(content) > MOST_EXTENDED or any(word in content for word in CHANGES):
        raise ReadError("an extended header")

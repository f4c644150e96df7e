"""Journal of a served learner: images that were learned after the last save, one line each call.

A line is on disk before its call is acknowledged; one that a kill has torn is dropped.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bison_ocl.errors import UserError, reason
from bison_ocl.files.durable import sync_folder, write_errors
from bison_ocl.files.lock import needing_locks, refusing
from bison_ocl.serve.entry import Entry, read, written

LONGEST = 1 << 30
"""bytes of a line; a longer one is refused, or damage"""


class NotKept(UserError):
    """What the disk did not do: keep images, which were not learned, save, or remove files."""


class Journal:
    """A file that one process appends to; `clear` empties it after a save."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with write_errors(path, "choose another place for the learner"):
            new = not path.exists()
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - open as long as we serve
            if new:
                sync_folder(path.parent)
        self._whole = self.size
        """bytes of lines that were written wholly"""
        try:
            with refusing(f"{path.with_suffix('')}"), needing_locks(path.parent):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except UserError:
            self.close()
            raise

    def entries(self) -> Iterator[Entry]:
        """All complete lines; what follows the last one was never acknowledged."""
        with self.path.open("rb") as file:
            size = self.size
            while line := file.readline(LONGEST):
                entry = read(line)
                if entry is not None:
                    yield entry
                elif file.tell() < size:
                    raise UserError(
                        f"{self.path} is damaged before its end: use another copy, or move it away"
                    )

    def append(self, entry: Entry) -> int:
        """Write one line to disk; the size before it, for `undo`. It is written wholly or not."""
        before, line = self._whole, memoryview(written(entry))
        if len(line) > LONGEST:  # the next start could not read it
            expected = f"more than {LONGEST:,} bytes of the journal: send fewer at once"
            raise UserError(f"the images would take {expected}")
        try:
            if self.size > before:  # what a full disk did not let us cut
                self.cut(before)
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self.undo(before)
            raise NotKept(f"cannot keep the images: {reason(error)}; try again later") from error
        self._whole = self.size
        return before

    def undo(self, size: int) -> None:
        """Drop what was appended beyond a size; if the disk refuses, the next line tries again."""
        with suppress(OSError):
            self.cut(size)

    def cut(self, size: int) -> None:
        self._whole = size
        os.ftruncate(self._file.fileno(), size)
        os.fsync(self._file.fileno())

    def clear(self) -> None:
        """Drop all lines, after a save or because their images must be forgotten."""
        with write_errors(self.path, "free the disk"):
            self.cut(0)

    def close(self) -> None:
        self._file.close()

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return os.fstat(self._file.fileno()).st_size

"""A learner, its file and its journal: an acknowledged image is in one of the two.

Learning takes turns and writes to the journal first; predictions wait for nobody. A save empties
the journal. After a kill in between, the count of tested images, which file and lines both hold,
says which lines the file holds already.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

from bison_ocl.errors import UserError, plural
from bison_ocl.files.durable import remove_temporary
from bison_ocl.learner.learner import Learner
from bison_ocl.serve.entry import Entry
from bison_ocl.serve.history import History
from bison_ocl.serve.journal import Journal, NotKept


def journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


class Service:
    """A learner in service; threads may share it."""

    def __init__(self, path: Path, load: Callable[[Path], Learner] = Learner.load) -> None:
        if not path.exists():
            raise UserError(f"no file {path}: check the path")
        if not path.is_file():
            raise UserError(f"cannot serve {path}: not a regular file; give a learner's file")
        self.path, self.journal = path, Journal(journal_of(path))
        self.history = History()
        self.saved_at = time.time()
        self.failed_saves = 0
        self._one_at_a_time = threading.Lock()
        try:
            self.learner = load(path)  # after the lock: another server may have saved until now
            self._replay()
        except BaseException:
            self.journal.close()
            raise

    @property
    def shape(self) -> tuple[int, ...]:
        """[3, H, W] of the images."""
        shape = self.learner.image_shape
        assert shape is not None  # a learner without an image cannot be saved
        return shape

    @property
    def tested(self) -> int:
        """Images tested, then learned; every observed image counts."""
        return self.learner.metrics.counts.images

    def _replay(self) -> None:
        """Learn what the journal holds and the file does not."""
        refused: UserError | None = None
        for entry in self.journal.entries():
            if refused is not None:
                raise refused
            if entry.at < self.tested:
                continue
            if entry.at > self.tested:
                raise UserError(
                    f"{self.journal.path} continues another version of {self.path}: "
                    "restore that version, or move the journal away"
                )
            try:
                self.learner.test_then_train(entry.x, entry.labels, entry.ids)
            except UserError as error:  # the last call was refused, and killed before it said so
                refused = error
        if self.journal.size:
            self.save()

    def observe(
        self, images: Any, labels: list[Hashable], ids: list[Hashable] | None = None
    ) -> list[Hashable | None]:
        """Write labelled images to the journal, predict them, then learn them."""
        x = self.learner.preprocess(images)
        with self._one_at_a_time:
            before = self.journal.append(Entry(self.tested, x, labels, ids))
            try:
                predicted = self.learner.test_then_train(x, labels, ids)
            except BaseException:
                self.journal.undo(before)
                raise
            self.history.add(time.time(), self.learner.metrics)
        return predicted

    def predict(
        self, images: Any, reject_below: float = 0.0
    ) -> list[tuple[Hashable | None, float]]:
        """The most likely label of each image and its probability; None below a bound."""
        return self.learner.predict_with_confidence(images, reject_below)

    def save(self) -> None:
        """Write the learner's file, then empty the journal."""
        with self._one_at_a_time:
            self._save()

    def forget(self, ids: list[Hashable] | None, labels: list[Hashable] | None) -> int:
        """Remove images from the learner, its file and the journal; how many were removed.

        The journal is empty when the learner forgets: no line of it may be learned afterwards. What
        a killed save left, also on another machine, goes too: the journal's lock keeps others away.
        """
        with self._one_at_a_time:
            self._save()
            gone = self.learner.forget(ids=ids, labels=labels)
            self._save()
            try:
                remove_temporary(self.path)
            except UserError as error:
                raise NotKept(f"forgot {plural(gone, 'image')}, but {error}") from error
        return gone

    def _save(self) -> None:
        try:
            self.learner.save(self.path)
            self.journal.clear()
        except UserError as error:
            self.failed_saves += 1
            raise NotKept(str(error)) from error
        self.saved_at = time.time()

    def close(self) -> None:
        """Save what only the journal holds, and let another process serve the file."""
        try:
            if self.journal.size:
                self.save()
        finally:
            self.journal.close()

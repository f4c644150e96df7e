"""Eager execution of steps, operator by operator; other executions build on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.memory.memory import Memory, Write
from bison_ocl.state import State


class Eager:
    """Steps a state operator by operator; `Captured` replays CUDA graphs."""

    def __init__(self, engine: Engine, me: State) -> None:
        self.engine, self.me = engine, me
        self._overwritten: list[tuple[Memory, Batch, Write]] | None = None

    def step(self, new: Batch) -> Tensor:
        """One step on one stream batch; the loss."""
        me, learned = self.me, self.engine.learn(self.me, new)
        if self._overwritten is not None and learned.write is not None:
            self._overwritten.append((me.memory, *me.memory.overwritten(learned.write)))
        after, loss = self.engine.stored(me, new, learned)
        self.take(after)
        return loss

    def end_task(self) -> None:
        """End the current task."""
        self.take(self.engine.end_task(self.me))

    def take(self, after: State) -> None:
        """Continue from a state."""
        self.me = after

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """Undo all steps inside the block if one fails.

        A step changes only memory rows in place, so copies of these are kept meanwhile.
        """
        before, self._overwritten = self.me, []
        try:
            yield
        except BaseException:
            for memory, rows, write in reversed(self._overwritten):
                memory.write(rows, write)
            self.me = before
            raise
        finally:
            self._overwritten = None

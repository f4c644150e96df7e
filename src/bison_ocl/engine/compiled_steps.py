"""Compiled execution of steps on a CPU; on a GPU `Captured` compiles inside its graphs.

A function is valid while no shape changes: one before and one after the end of the first task, and
new ones when heads grow. Short batches, and steps before the memory can fill a replay batch, run
operator by operator.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bison_ocl.batch import Batch
from bison_ocl.engine.compile import compiled
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.step import Engine, Learned
from bison_ocl.errors import UserError
from bison_ocl.state import State

COMPILERS = ("g++", "clang++")

Learn = Callable[[State, Batch], Learned]


class CompiledSteps(Eager):
    """Steps a state by compiled functions."""

    def __init__(self, engine: Engine, me: State, folder: Path) -> None:
        """folder: for compiled functions, so that other processes need not compile them"""
        check_compiler()
        super().__init__(engine, me)
        self.folder = folder
        self.functions: dict[tuple[object, ...], Learn] = {}

    def learn(self, new: Batch) -> Learned:
        settled = self.me.memory.filled >= self.engine.method.settled_at(self.me)
        if not settled or new.y.shape[-1] != self.engine.method.stream_batch:
            return super().learn(new)
        # No shape depends on the number of filled rows any more: one function for all.
        memory = replace(self.me.memory, filled=self.me.memory.capacity)
        me = replace(self.me, memory=memory)
        key = (me.later, me.closed, me.classes)
        if key not in self.functions:
            name = repr(self.engine.method)
            self.functions[key] = compiled(self.engine.learn, name, self.folder, me, new)
        return self.functions[key](me, new)


def check_compiler() -> None:
    """Refuse to compile where PyTorch would find no compiler."""
    wanted = [os.environ["CXX"]] if os.environ.get("CXX") else COMPILERS
    if not any(shutil.which(name) for name in wanted):
        raise UserError(
            f"compiling steps on a CPU needs {' or '.join(wanted)}: install it, or do not compile"
        )

"""Repeating a run gives the same bits, independent of other random generators."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from bison_ocl.batch import Batch
from bison_ocl.contract.moments import CLASSES, copied, demand_same, held, walk
from bison_ocl.contract.world import begin
from bison_ocl.engine.step import Engine
from bison_ocl.files import checkpoint
from bison_ocl.methods.method import Method
from bison_ocl.state import State


def repeated(method: Method) -> None:
    """A repeated run is equal bit for bit, for any state of torch's own generator."""

    def end(seed: int) -> State:
        torch.manual_seed(seed)
        return walk(method, 0, lambda me, new: None)

    with torch.random.fork_rng(devices=[]):
        one, other = end(1), end(2)
    demand_same(one, other, "it draws from torch's generator or counts calls: use me.key(name)")


def resumed(method: Method) -> None:
    """A run resumed from a file at any step continues bit for bit."""
    engine = Engine(method)

    def resume(me: State, new: Batch) -> None:
        checkpoint.write(file, *checkpoint.pack(me))  # not a copy: its tensors may share storage
        other = checkpoint.unpack(begin(method, seed=9, classes=CLASSES), *checkpoint.read(file))
        ends = held(engine.end_task(me)), held(engine.end_task(other))
        demand_same(*ends, "after a resume, the end of a task differs")
        (one, loss), (two, other_loss) = engine.step(copied(me), new), engine.step(other, new)
        demand_same((held(one), loss), (held(two), other_loss), "after a resume, a step differs")

    with TemporaryDirectory() as folder:
        file = Path(folder) / "run"
        walk(method, 0, resume)

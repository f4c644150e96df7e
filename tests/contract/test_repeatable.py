"""The same run again gives the same bits, whatever else draws random numbers."""

from __future__ import annotations

from pathlib import Path

import torch

from bison_ocl.batch import Batch
from bison_ocl.engine.step import Engine
from bison_ocl.files import checkpoint
from bison_ocl.methods.method import Method
from bison_ocl.state import State
from tests.contract.conftest import CLASSES, copied, held, walk
from tests.tiny import begin, same, snapshot


def test_a_run_repeated_is_bitwise_equal(method: Method) -> None:
    ends = []
    for seed in (1, 2):  # of torch's generator, which no method may use
        torch.manual_seed(seed)
        ends.append(snapshot(walk(method, 0, lambda me, new: None)))
    assert same(*ends)


def test_a_run_resumed_from_a_file_is_bitwise_equal(method: Method, tmp_path: Path) -> None:
    """At every step, by the step or end of task that follows."""
    engine, file = Engine(method), tmp_path / "run"

    def resume(me: State, new: Batch) -> None:
        checkpoint.write(file, *checkpoint.pack(me))  # not a copy: its tensors may share storage
        resumed = checkpoint.unpack(begin(method, seed=9, classes=CLASSES), *checkpoint.read(file))
        assert same(snapshot(held(engine.end_task(me))), snapshot(held(engine.end_task(resumed))))
        (one, loss), (other, other_loss) = engine.step(copied(me), new), engine.step(resumed, new)
        assert same(snapshot((held(one), loss)), snapshot((held(other), other_loss)))

    walk(method, 0, resume)

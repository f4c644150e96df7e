"""Executions of the same step agree: looped, vectorised, captured, compiled. Needs a GPU."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl import tree
from bison_ocl.engine.step import Engine
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured
from bison_ocl.methods.start import first_state
from bison_ocl.nets.resnet import ResNet18
from tests.tiny import readable, stream

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]


def apart(name: str, dtype: torch.dtype) -> dict[str, Any]:
    """How far executions are from the loop; kept in the file $BISON_OCL_EQUALITY names, if any."""
    from bison_ocl.experiments.records.commit import commit
    from bison_ocl.experiments.records.environment import environment
    from tests.equality import differences

    found = differences(name, dtype)
    if path := os.environ.get("BISON_OCL_EQUALITY"):
        row = {"method": name, "dtype": str(dtype)} | {how: asdict(d) for how, d in found.items()}
        row |= {"commit": commit(), "environment": vars(environment("cuda"))}
        with open(path, "a") as file:
            file.write(json.dumps(row) + "\n")
    return found


@pytest.mark.parametrize("name", METHODS)
def test_steps_agree_in_float64(name: str) -> None:
    for how, found in apart(name, torch.float64).items():
        assert found.update <= 1e-9, (how, found)
        assert found.loss <= 1e-9, (how, found)
        assert found.numbers, how


@pytest.mark.parametrize("name", METHODS)
def test_losses_agree_in_float32(name: str) -> None:
    """More than the loss cannot: a ReLU gate that flips by rounding changes an update by 1 %."""
    for how, found in apart(name, torch.float32).items():
        assert found.loss <= 1e-5, (how, found)


def test_recording_again_and_again_takes_no_more_memory() -> None:
    from bison_ocl.engine.capture import recorded

    x = torch.zeros(64, 64, device="cuda")

    def work() -> None:
        x.copy_(x @ x)

    recorded(work, work)
    before = torch.cuda.memory_allocated()
    for _ in range(4):
        recorded(work, work)
    assert torch.cuda.memory_allocated() - before < 32 * 2**20


@pytest.mark.parametrize("name", ["bison", "er"])
def test_a_compiled_step_agrees(name: str, tmp_path: Path) -> None:
    from bison_ocl.engine.capture import Captured
    from tests.equality import copied, on_gpu

    method, shape = configured(name, "split-digits", {}), (3, 8, 8)
    backbone = ResNet18(4, shape, "fp32", fused=True)
    engine = Engine(method, tree.vectorised)
    me = tree.stack(
        [first_state(method, s, backbone, 4, 20, shape, device="cuda") for s in range(2)]
    )
    batches = [
        tree.stack([on_gpu(batch) for batch in pair])
        for pair in zip(*(next(iter(stream(s))) for s in range(2)), strict=True)
    ]
    for new in batches[:2]:
        me, _ = engine.step(me, new)
    for _ in range(2):  # compiled, then loaded
        captured = Captured(engine, me, tmp_path)
        after, loss = engine.step(copied(me), batches[2])
        torch.testing.assert_close(captured.step(batches[2]), loss, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(readable(captured.me), readable(after), rtol=1e-4, atol=1e-5)
    assert len(list(tmp_path.iterdir())) == 1

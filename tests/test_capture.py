"""Executions of the same step agree: looped, vectorised, captured, compiled. Needs a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from bison_ocl import tree
from bison_ocl.engine import Engine
from bison_ocl.methods import METHODS
from bison_ocl.methods.settings import configured
from bison_ocl.nets.resnet import ResNet18
from tests.tiny import stream

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]


@pytest.mark.parametrize("name", METHODS)
def test_steps_agree_in_float64(name: str) -> None:
    from tests.equality import differences

    for how, apart in differences(name, torch.float64).items():
        assert apart.update <= 1e-9, (how, apart)
        assert apart.loss <= 1e-9, (how, apart)
        assert apart.numbers, how


@pytest.mark.parametrize("name", METHODS)
def test_losses_agree_in_float32(name: str) -> None:
    """More than the loss cannot: a ReLU gate that flips by rounding changes an update by 1 %."""
    from tests.equality import differences

    for how, apart in differences(name, torch.float32).items():
        assert apart.loss <= 1e-5, (how, apart)


@pytest.mark.parametrize("name", ["bison", "er"])
def test_a_compiled_step_agrees(name: str, tmp_path: Path) -> None:
    from bison_ocl.capture import Captured
    from tests.equality import copied, on_gpu

    method, shape = configured(name, "split-digits", {}), (3, 8, 8)
    backbone = ResNet18(4, shape, "fp32", fused=True)
    engine = Engine(method, tree.vectorised)
    me = tree.stack([method.init(s, backbone, 4, 20, shape, device="cuda") for s in range(2)])
    batches = [
        tree.stack([on_gpu(batch) for batch in pair])
        for pair in zip(*(next(iter(stream(s))) for s in range(2)), strict=True)
    ]
    for new in batches[:2]:
        me, _ = engine.step(me, new)
    for _ in range(2):  # compiled, then loaded
        captured = Captured(engine, me, tmp_path)
        _, loss = engine.step(copied(me), batches[2])
        torch.testing.assert_close(captured.step(batches[2]), loss, rtol=1e-5, atol=1e-5)
    assert len(list(tmp_path.iterdir())) == 1

"""Which layers and which steppers a device gets. There may be no GPU here: nothing runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl import tree
from bison_ocl.batch import Batch
from bison_ocl.engine import execution
from bison_ocl.engine.capture import Captured, replayed
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.execution import Execution
from bison_ocl.engine.scoring import alone, in_turn
from bison_ocl.errors import UserError
from bison_ocl.methods.er import ER
from bison_ocl.nets.precision import checked_precision
from bison_ocl.nets.resnet import ResNet18
from tests.tiny import begin, labelled

FOLDER = Path("compiled")


@pytest.mark.parametrize(
    ("options", "fuses", "captures", "compiles"),
    [
        ({}, False, False, False),
        ({"compiled_in": FOLDER}, False, False, False),
        ({"device": "cuda"}, True, True, False),
        ({"device": "cuda:1"}, True, True, False),
        ({"device": "cuda", "compiled_in": FOLDER}, True, True, True),
        ({"device": "cuda", "own_module": True}, False, False, False),
        ({"device": "cuda", "own_module": True, "compiled_in": FOLDER}, False, False, False),
    ],
)
@pytest.mark.parametrize("triton", [True, False])
def test_what_a_device_gets(
    options: dict[str, Any],
    fuses: bool,
    captures: bool,
    compiles: bool,
    triton: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "find_spec", lambda name: object() if triton else None)
    found = Execution(**options)
    assert found.fuses is (fuses and triton)
    assert (found.captures, found.compiles) == (captures, compiles)
    backbone = found.backbone(ER(), (3, 8, 8))
    assert isinstance(backbone, ResNet18)
    assert backbone.fused is (fuses and triton)


@pytest.mark.parametrize("precision", ["tf32", "bf16", "fp32"])
def test_the_network_has_the_precision_asked_for(precision: str) -> None:
    backbone = Execution(precision=checked_precision(precision)).backbone(ER(), (3, 8, 8))
    assert isinstance(backbone, ResNet18)
    assert backbone.precision == precision


@pytest.mark.parametrize("name", ["fp16", "", "TF32", "float32", None])
def test_other_precisions_are_refused(name: object) -> None:
    with pytest.raises(UserError, match=f"precision {name}: choose tf32, bf16 or fp32"):
        checked_precision(name)


@pytest.mark.parametrize("stacked", [False, True])
def test_engines_and_steppers(stacked: bool) -> None:
    for device, repeat, kind in (("cpu", in_turn, Eager), ("cuda", replayed, Captured)):
        how = Execution(device, compiled_in=FOLDER)
        engine = how.engine(ER(), stacked)
        assert engine.each is (tree.vectorised if stacked else alone)
        assert engine.repeat is repeat
        stepper = how.stepper(engine, begin(ER()))
        assert type(stepper) is kind
        assert getattr(stepper, "compiled_in", FOLDER) == FOLDER


def test_a_batch_of_the_host_is_page_locked_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    locked: list[torch.Size] = []

    def lock(leaf: torch.Tensor) -> torch.Tensor:
        locked.append(leaf.shape)
        return leaf

    monkeypatch.setattr(torch.Tensor, "pin_memory", lock)
    batch = labelled(torch.arange(5) % 4)
    assert Execution("cpu").moved(batch) is batch
    assert locked == []
    there: Batch = Execution("meta").moved(batch)
    assert there.x.is_meta
    assert there.y.is_meta
    assert locked == [(5, 3, 8, 8), (5,)]


@pytest.fixture
def flags() -> Iterator[None]:
    backends = torch.backends.cudnn, torch.backends.cuda.matmul
    before = [backend.allow_tf32 for backend in backends]
    yield
    for backend, value in zip(backends, before, strict=True):
        backend.allow_tf32 = value


@pytest.mark.usefixtures("flags")
@pytest.mark.parametrize(
    ("name", "convolutions"), [("tf32", True), ("bf16", True), ("fp32", False)]
)
def test_tf32_is_for_convolutions_alone_and_while_it_lasts(
    name: str, convolutions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[str] = []

    def device(name: str) -> nullcontext[None]:
        entered.append(name)
        return nullcontext()

    monkeypatch.setattr(torch.cuda, "device", device)
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    cudnn.allow_tf32, matmul.allow_tf32 = not convolutions, True
    found = []

    def work() -> None:
        with Execution("cuda:1", checked_precision(name)).active():
            found.append((cudnn.allow_tf32, matmul.allow_tf32))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert found == [(convolutions, False)]
    assert (cudnn.allow_tf32, matmul.allow_tf32) == (not convolutions, True)
    assert entered == ["cuda:1"]
    with Execution("cpu", checked_precision(name)).active():
        assert (cudnn.allow_tf32, matmul.allow_tf32) == (not convolutions, True)

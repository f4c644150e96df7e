"""Compiled steps on a CPU: when they are used, and that they change nothing but rounding."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from bison_ocl import tree
from bison_ocl.engine import compiled_steps
from bison_ocl.engine.compiled_steps import CompiledSteps, check_compiler
from bison_ocl.engine.eager import Eager
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.methods.settings import configured
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.processor import computes_bfloat16, described
from tests.tiny import SHAPE, begin, stream


class Calls:
    """A stand-in for the compiler: the function itself, and which states it was made for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[bool, int]] = []
        self.calls = 0
        monkeypatch.setattr(compiled_steps, "compiled", self.compiled)
        monkeypatch.setattr(compiled_steps, "check_compiler", lambda: None)

    def compiled(self, f: Callable[..., Any], name: str, folder: Path, me: Any, new: Any) -> Any:
        self.made.append((me.later, me.memory.filled))

        def call(*trees: Any) -> Any:
            self.calls += 1
            return f(*trees)

        return call


def test_full_batches_are_compiled_once_before_and_after_the_first_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Calls(monkeypatch)
    method = configured("bison", None, {})
    me = begin(method, 0)
    plain, fast = Eager(Engine(method), me), CompiledSteps(Engine(method), begin(method, 0), Path())
    steps = 0
    for task in stream(0):
        for new in task:
            steps += 1
            torch.testing.assert_close(plain.step(new), fast.step(new), rtol=0, atol=0)
        plain.end_task()
        fast.end_task()
    assert [later for later, _ in found.made] == [False, True]
    assert {filled for _, filled in found.made} == {me.memory.capacity}
    assert 0 < found.calls < steps  # the first, without anything to replay, ran as it is
    assert tree.named(plain.me).keys() == tree.named(fast.me).keys()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's compiler, of its own parts
@pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch's compiler needs g++")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_really_compiled_step_is_the_engines(
    precision: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    method = configured("er", None, {})
    backbone = ResNet18(1, SHAPE, precision)
    begun = [begin(method, 0, backbone=backbone, dtype=torch.float32) for _ in range(2)]
    plain, fast = Eager(Engine(method), begun[0]), CompiledSteps(Engine(method), begun[1], tmp_path)
    for new in stream(0)[0][:3]:
        plain.step(new)
        fast.step(new)
    assert list(tmp_path.glob("*.compiled"))
    for name, value in tree.named(plain.me.net).items():
        torch.testing.assert_close(tree.named(fast.me.net)[name], value, rtol=0.05, atol=0.02)


def test_without_a_compiler_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UserError, match="needs no-such-compiler: install it, or do not compile"):
        check_compiler()


def test_what_is_known_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    info = Path("/proc/cpuinfo")
    if info.exists() and "model name" in info.read_text():
        assert described("model name") in info.read_text()
    for flags, expected in (("fpu amx_bf16", True), ("fpu avx512f", False), ("", False)):
        monkeypatch.setattr("bison_ocl.processor.described", lambda field, f=flags: f)
        assert computes_bfloat16() is expected

"""Compiled functions of trees: same results, kept under a name that holds all they depend on."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor
from torch.fx import GraphModule

from bison_ocl import rng, tree
from bison_ocl.batch import Batch
from bison_ocl.engine.capture import Captured
from bison_ocl.engine.compile import compiled, digest, form_of, load
from bison_ocl.engine.step import Engine
from bison_ocl.methods import METHODS
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import configured
from bison_ocl.nets.resnet import ResNet18
from bison_ocl.state import State
from tests.tiny import SHAPE, begin, same, snapshot, stream

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Pair:
    """A tree with a fixed part."""

    one: Tensor
    other: dict[str, Tensor]
    times: int


def pair(seed: int, times: int = 2) -> Pair:
    x = torch.rand(3, 4, generator=torch.Generator().manual_seed(seed))
    return Pair(x, {"a": x[0] + 1}, times)


def doubled(pair: Pair, y: Tensor) -> tuple[Pair, Tensor]:
    """Python enough: a loop over a fixed number, a branch on it."""
    total = y
    for _ in range(pair.times):
        total = total + pair.other["a"].sum() if pair.times > 1 else total
    return replace(pair, one=pair.one * 2), total.sin()


class Kept:
    """A stand-in for the compiler: the traced graph as it is, and a file that says it was here."""

    graphs: list[GraphModule]

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import torch._inductor as inductor

        self.graphs = []
        monkeypatch.setattr(inductor, "standalone_compile", self.compile)
        monkeypatch.setattr(inductor, "CompiledArtifact", self)

    def compile(self, graph: GraphModule, inputs: list[Tensor], **_: Any) -> Kept:
        warnings.warn("consider another precision", stacklevel=1)
        self.graphs.append(graph)
        return self

    def __call__(self, *values: Tensor) -> Any:
        return self.graphs[-1](*values)

    def save(self, path: str, format: str) -> None:
        Path(path).write_text(format)

    def load(self, path: str, format: str) -> Kept:
        assert Path(path).read_text() == format
        return self


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Kept:
    return Kept(monkeypatch)


def test_a_compiled_function_gives_the_same_tree(compiler: Kept, tmp_path: Path) -> None:
    examples, given = (pair(0), torch.ones(())), (pair(1), torch.zeros(()))
    before = snapshot(examples)
    fast = compiled(doubled, "doubled", tmp_path, *examples)
    found, wanted = fast(*given), doubled(*given)
    assert isinstance(found[0], Pair)
    assert found[0].times == 2
    torch.testing.assert_close(tree.named(found), tree.named(wanted))
    assert same(snapshot(examples), before)


def test_what_was_compiled_is_loaded_the_next_time(compiler: Kept, tmp_path: Path) -> None:
    examples = (pair(0), torch.ones(()))
    for _ in range(2):
        fast = compiled(doubled, "doubled", tmp_path / "deep" / "folder", *examples)
        torch.testing.assert_close(tree.leaves(fast(*examples)), tree.leaves(doubled(*examples)))
    assert len(compiler.graphs) == 1
    assert len(list((tmp_path / "deep" / "folder").iterdir())) == 1


@pytest.mark.parametrize("damage", [AssertionError("too short"), RuntimeError("corrupted")])
def test_a_damaged_file_is_compiled_anew(
    compiler: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Exception
) -> None:
    """A machine that lost power may leave one; PyTorch refuses it in these ways."""
    examples = (pair(0), torch.ones(()))
    compiled(doubled, "doubled", tmp_path, *examples)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"")
    with monkeypatch.context() as once:
        once.setattr(compiler, "load", Mock(side_effect=damage))
        fast = compiled(doubled, "doubled", tmp_path, *examples)
    torch.testing.assert_close(tree.leaves(fast(*examples)), tree.leaves(doubled(*examples)))
    compiled(doubled, "doubled", tmp_path, *examples)
    assert len(compiler.graphs) == 2
    assert list(tmp_path.iterdir()) == [kept]


def test_other_settings_forms_and_fixed_parts_are_compiled_anew(
    compiler: Kept, tmp_path: Path
) -> None:
    y = torch.ones(())
    for name, first in (
        ("doubled", pair(0)),
        ("doubled with other settings", pair(0)),
        ("doubled", pair(0, times=1)),
        ("doubled", tree.map_leaves(torch.Tensor.double, pair(0))),
        ("doubled", replace(pair(0), one=torch.rand(4, 3))),
        ("doubled", replace(pair(0), one=torch.rand(4, 3).T)),
    ):
        fast = compiled(doubled, name, tmp_path, first, y)
        torch.testing.assert_close(tree.leaves(fast(first, y)), tree.leaves(doubled(first, y)))
    assert len(compiler.graphs) == len(list(tmp_path.iterdir())) == 6


def test_the_compilers_advice_is_not_shown_but_the_functions_own_is(
    compiler: Kept, tmp_path: Path
) -> None:
    def speaking(x: Tensor) -> Tensor:
        warnings.warn("of the function", stacklevel=1)
        return x + 1

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        compiled(speaking, "speaking", tmp_path, torch.ones(2))
    assert {str(one.message) for one in heard} == {"of the function"}


def test_names_do_not_depend_on_values() -> None:
    assert digest("f", pair(0), CPU) == digest("f", pair(1), CPU)


def stepped(method: Method) -> tuple[Engine, State, Batch]:
    """Two runs with fused layers, their memories full, and the batch they meet next."""
    backbone = ResNet18(2, SHAPE, fused=True)
    engine = Engine(method, tree.vectorised)
    me = tree.stack([begin(method, seed, backbone=backbone) for seed in range(2)])
    batches = [tree.stack(pair) for pair in zip(*(stream(s)[0] for s in range(2)), strict=True)]
    for new in batches[:2]:
        me, _ = engine.step(me, new)
    return engine, me, batches[2]


@pytest.mark.parametrize("name", ["bison", "er"])
def test_a_traced_step_equals_the_engines_and_keeps_operators_whole(
    compiler: Kept, tmp_path: Path, name: str
) -> None:
    engine, me, new = stepped(configured(name, "split-digits", {}))
    fast = compiled(engine.learn, name, tmp_path, me, new)
    found, wanted = fast(me, new), engine.learn(me, new)
    assert list(tree.named(found)) == list(tree.named(wanted))
    for one, other in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-13)
    called = {str(node.target) for node in compiler.graphs[0].graph.nodes}
    assert {
        f"bison_ocl.{operator}.default"
        for operator in (
            "convolve",
            "image_gradient",
            "weight_gradient",
            "normalise",
            "normalise_back",
        )
    } <= called
    assert not any("aten.convolution" in call or "batch_norm" in call for call in called)


@pytest.mark.parametrize("name", METHODS)
def test_the_name_of_a_step_is_the_same_in_every_process(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds no address of an object: the next process would never find what this one kept."""
    method = configured(name, "split-digits", {})
    me = tree.stack([begin(method, seed) for seed in range(2)])
    new = tree.stack([stream(seed)[0][0] for seed in range(2)])
    names: list[str] = []
    monkeypatch.setattr(
        "bison_ocl.engine.capture.compiled", lambda _, name, *rest: names.append(name)
    )
    Captured(Engine(method, tree.vectorised), me, Path())._learn(me, new)
    form = repr(tree.map_leaves(lambda leaf: form_of(leaf), (me, new)))  # type: ignore[arg-type, return-value]
    assert len(names) == 1
    assert " at 0x" not in names[0] + form


def drawn(pair: Pair, seed: Tensor) -> tuple[Pair, dict[str, Tensor]]:
    """Numbers of a step: compilers like to count in 32 bits."""
    key = rng.key(seed, seed + 1, "draw")
    pixels = pair.one * rng.uniform(key, pair.one.shape)
    return replace(pair, one=pixels), {"bits": rng.bits(key, (6,)), "rows": rng.rows(key, 3, 2)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's compiler, of its own parts
@pytest.mark.skipif(shutil.which("g++") is None, reason="PyTorch's compiler needs g++")
def test_the_real_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    examples, given = (pair(0), torch.tensor(1)), (pair(1), torch.tensor(2))
    for _ in range(2):  # compiled, then loaded
        found = compiled(drawn, "drawn", tmp_path / "kept", *examples)(*given)
        assert same(snapshot(found), snapshot(drawn(*given)))
    (kept,) = (tmp_path / "kept").iterdir()
    for size in (0, kept.stat().st_size // 2):
        kept.write_bytes(kept.read_bytes()[:size])
        assert load(kept) is None

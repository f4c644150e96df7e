"""A pure function of trees, traced once and compiled for the shapes it was traced with.

What was compiled is kept in a folder under a name that holds all it depends on: the package's
source, the trees' form, PyTorch's version and the device. The next process loads it in seconds.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from bison_ocl import tree

T = TypeVar("T")

OPTIONS = {"triton.cudagraphs": False, "deterministic": True, "combo_kernels": True}
"""Graphs are recorded by capture.py; reductions are cut by rule, not by timing, for equal bits;
small kernels that do not wait for each other become one."""


def compiled(f: Callable[..., T], name: str, folder: Path, *examples: Any) -> Callable[..., T]:
    """f for arguments of the form of the examples; branches are those the examples take.

    Traced first: what the compiler sees is tensor operations alone, whatever Python f is made of.
    `name` tells functions apart whose code is the same and whose settings are not.
    """
    inputs = tree.leaves(examples)
    path = folder / f"{digest(name, examples, inputs[0].device)}.compiled"
    with torch.no_grad(), warnings.catch_warnings():
        form = f(*tree.map_leaves(torch.clone, examples))
        warnings.simplefilter("ignore")  # the compiler's advice to those who call it
        run = load(path) if path.exists() else compile_anew(f, examples, path)

    def call(*trees: Any) -> T:
        return tree.rebuilt(form, run(*tree.leaves(trees)))

    return call


def compile_anew(f: Callable[..., Any], examples: Any, path: Path) -> Callable[..., Any]:
    """Trace, compile and keep."""
    from torch._inductor import standalone_compile

    def flat(*values: Tensor) -> list[Tensor]:
        return tree.leaves(f(*tree.rebuilt(examples, values)))

    inputs: list[Any] = tree.leaves(examples)
    graph = make_fx(flat, tracing_mode="fake")(*inputs)
    found = standalone_compile(
        graph,
        inputs,
        dynamic_shapes="from_example_inputs",
        options={"config_patches": OPTIONS},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    found.save(path=str(beside), format="binary")
    beside.replace(path)
    return found


def load(path: Path) -> Callable[..., Any]:
    """What an earlier process compiled."""
    found: Callable[..., Any] = torch._inductor.CompiledArtifact.load(  # type: ignore[attr-defined]
        path=str(path), format="binary"
    )
    return found


def digest(name: str, examples: Any, device: torch.device) -> str:
    """A name for what is compiled, different wherever the result could be."""
    form = tree.walk(lambda _, leaf: form_of(leaf), examples)
    model = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    whole = repr((source(), name, form, torch.__version__, model, OPTIONS))
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def form_of(leaf: Tensor) -> Any:
    return f"{leaf.dtype}{list(leaf.shape)}{leaf.stride()}"


@cache
def source() -> str:
    """A fingerprint of the package's code."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

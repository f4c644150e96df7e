"""Compile a pure function of trees for the shapes of its examples.

A folder keeps the result under a name with everything it depends on: the package's source, the
trees' form, PyTorch's version and the device. Another process loads it in seconds.
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
"""capture.py captures the graphs; reductions are split by rule, not by timing, for equal bits;
independent small kernels are merged."""


def compiled(f: Callable[..., T], name: str, folder: Path, *examples: Any) -> Callable[..., T]:
    """f compiled for arguments like the examples, with the branches that the examples take.

    Tracing first gives the compiler plain tensor operations. `name` distinguishes functions with
    the same code and different settings.
    """
    inputs = tree.leaves(examples)
    path = folder / f"{digest(name, examples, inputs[0].device)}.compiled"
    with torch.no_grad(), warnings.catch_warnings():
        form = f(*tree.map_leaves(torch.clone, examples))
        warnings.simplefilter("ignore")  # the compiler's advice to its callers
        run = load(path) or compile_anew(f, examples, path)

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
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    found.save(path=str(unfinished), format="binary")
    unfinished.replace(path)
    return found


def load(path: Path) -> Callable[..., Any] | None:
    """The result of an earlier compilation; None if there is none, or a torn or foreign file."""
    try:
        found: Callable[..., Any] = torch._inductor.CompiledArtifact.load(  # type: ignore[attr-defined]
            path=str(path), format="binary"
        )
    except (FileNotFoundError, AssertionError, RuntimeError):  # PyTorch checks sums and versions
        return None
    return found


def digest(name: str, examples: Any, device: torch.device) -> str:
    """A name that differs whenever the compiled result could."""
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

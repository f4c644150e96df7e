"""Lines and files to read to understand a method: its file, the engine's step, shared rules.

    PYTHONPATH=src python tools/reading.py

Followed are imports of methods, losses, memory and inference rules; not the vocabulary that methods
share (batches, networks, draws, views, features of the memory).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from bison_ocl.methods import METHODS

EVERY_METHOD = ("bison_ocl.engine.step", "bison_ocl.state")
"""the step, and what it works on"""
FOLLOWED = ("bison_ocl.methods.", "bison_ocl.losses.", "bison_ocl.memory.", "bison_ocl.inference.")
VOCABULARY = (
    "bison_ocl.memory.memory",
    "bison_ocl.inference.features",
    "bison_ocl.inference.rule",
)


def reading(method: str) -> dict[str, int]:
    """The modules to read for a method, and their lines."""
    found: dict[str, int] = {}
    waiting = [f"bison_ocl.methods.{METHODS[method].rpartition('.')[0]}", *EVERY_METHOD]
    while waiting:
        if (module := waiting.pop(0)) in found:
            continue
        source = source_of(module)
        found[module] = len(source.splitlines())
        if module not in EVERY_METHOD:
            waiting += followed(source)
    return found


def followed(source: str) -> Iterator[str]:
    """The modules that a reader looks up."""
    for node in ast.walk(ast.parse(source)):
        module = node.module if isinstance(node, ast.ImportFrom) else None
        if module and module.startswith(FOLLOWED) and module not in VOCABULARY:
            yield module


def source_of(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text()


def main() -> None:
    for method in METHODS:
        found = reading(method)
        print(f"{method:10} {sum(found.values()):5} lines in {len(found):2} files")


if __name__ == "__main__":
    main()

"""A server knows its learner by public names alone, as any other program does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bison_ocl import serve

FILES = sorted(Path(serve.__file__).parent.rglob("*.py"))
OWN = ("self", "cls")


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def borrowed(source: str) -> Iterator[str]:
    """The private names of other objects and modules that a source reads."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id=owner)) if owner in OWN:
                continue
            case ast.Attribute(attr=name) if private(name):
                yield ast.unparse(node)
            case ast.ImportFrom(names=names):
                yield from (one.name for one in names if private(one.name))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_serve_reads_public_names_only(file: Path) -> None:
    assert list(borrowed(file.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("self._lock", []),
        ("learner.__dict__", []),
        ("self.learner._training.shape", ["self.learner._training"]),
        ("learner._counts = 3", ["learner._counts"]),
        ("from os import _exit", ["_exit"]),
    ],
)
def test_private_names_are_found(source: str, found: list[str]) -> None:
    assert list(borrowed(source)) == found

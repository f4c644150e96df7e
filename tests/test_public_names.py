"""Public names: docs/COMPATIBILITY.md lists them, and they can be imported."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import bison_ocl
from bison_ocl.experiments.records import record
from bison_ocl.files import checkpoint
from bison_ocl.learner.saved import writing

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/COMPATIBILITY.md").read_text("utf-8")
ROWS = re.findall(r"^\| `(bison_ocl[\w.]*)` \| ([^|]+) \|", PAGE, re.MULTILINE)
PUBLIC = {module: re.findall(r"`(\w+)`", names) for module, names in ROWS}


def test_the_package_exports_what_the_page_lists() -> None:
    assert sorted(bison_ocl.__all__) == sorted(PUBLIC["bison_ocl"])


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_exist(module: str) -> None:
    found = import_module(module)
    assert PUBLIC[module]
    assert [name for name in PUBLIC[module] if not hasattr(found, name)] == []


@pytest.mark.parametrize(
    "text",
    sorted(
        [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/tutorials").glob("*.py")]
    ),
    ids=lambda path: path.name,
)
def test_examples_use_public_names_only(text: Path) -> None:
    """And so do readers who follow them; a module itself counts by its names."""
    imports = re.findall(
        r"^from (bison_ocl[\w.]*) import ([\w, ]+)", text.read_text("utf-8"), re.MULTILINE
    )
    modules = {name.rpartition(".")[2] for name in PUBLIC}
    for module, names in imports:
        for name in names.strip().split(", "):
            assert name in PUBLIC.get(module, ()) or name in modules, f"{module}.{name}"


@pytest.mark.parametrize(
    ("file", "version"),
    [
        ("`results.jsonl`", f"`schema` {record.SCHEMA}"),
        ("learner file", f"`schema` {writing.SCHEMA}"),
        ("run checkpoint", f"`{checkpoint.FORMAT}`"),
    ],
)
def test_the_versions_of_files_are_those_of_the_code(file: str, version: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {file}")]
    assert f"| {version} |" in row

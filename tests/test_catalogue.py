"""Lists of what there is, read from files without importing them."""

from __future__ import annotations

from importlib import import_module
from inspect import getdoc
from pathlib import Path
from types import ModuleType

import pytest

from bison_ocl import methods
from bison_ocl.cli.catalogue import class_facts, listing, method_listing
from bison_ocl.methods import METHODS, method_class


def package(folder: Path, **files: str) -> ModuleType:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    module = ModuleType("package")
    module.__file__ = str(folder / "__init__.py")
    return module


def test_name_what_and_where_from(tmp_path: Path) -> None:
    one = '"""Does α.\n\nSomebody 2020.\nMore.\n"""\nraise SystemExit("imported")\n'
    found = listing(
        package(tmp_path, one=one, two='"""Does two."""\n'), {"first-one": "one", "second": "two"}
    )
    assert found.splitlines() == [
        "first-one  Does α.",
        "           Somebody 2020.",
        "second     Does two.",
    ]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_listed_with_its_own_words(name: str) -> None:
    text = listing(methods, {name: METHODS[name].rpartition(".")[0]})
    docstring = getdoc(import_module(method_class(name).__module__))
    assert docstring
    what, source = text.splitlines()
    assert what == f"{name}  {docstring.splitlines()[0]}"
    assert source.strip() == docstring.splitlines()[2]


@pytest.mark.parametrize("name", METHODS)
def test_what_is_told_of_a_method_without_importing_it_is_true(name: str) -> None:
    module = METHODS[name].rpartition(".")[0]
    facts, found = class_facts(methods, module), method_class(name)
    assert facts.get("kind", "") == found.kind
    assert facts.get("boundaries", False) == found.boundaries
    assert f"{name:<10}" in method_listing(methods, {name: module})

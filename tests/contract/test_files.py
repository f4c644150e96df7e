"""Each method is one short file that names its paper, its settings and itself in METHODS."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, get_origin, get_type_hints

import pytest
from tools.reading import reading

import bison_ocl.methods
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.method import Method

FOLDER = Path(bison_ocl.methods.__file__).parent
SHARED = {"method.Method", "nearest_mean.NearestMean"}
CITATION = re.compile(
    r"[A-ZÀ-Þ][\w'-]+(,? (et al\.|(& |and )?[A-ZÀ-Þ][\w'-]+))*,? \(?(19|20)\d\d\b"
)


def classes_in(name: str) -> Iterator[type[Method]]:
    """The methods a module defines."""
    module = import_module(f"bison_ocl.methods.{name}")
    for value in vars(module).values():
        own = isinstance(value, type) and value.__module__ == module.__name__
        if own and issubclass(value, Method):
            yield value


def test_every_method_file_is_listed() -> None:
    files = [path.relative_to(FOLDER).with_suffix("") for path in FOLDER.rglob("*.py")]
    modules = [".".join(file.parts) for file in files if file.name != "__init__"]
    written = {f"{name}.{found.__name__}" for name in modules for found in classes_in(name)}
    assert written - SHARED == set(METHODS.values())
    assert len(METHODS) == len(set(METHODS.values()))


def test_method_is_built_by_its_name(method: Method) -> None:
    assert issubclass(type(method), Method)
    assert type(method).__doc__


MOST = {"er": (450, 6), "mir": (530, 6), "bison": (640, 9)}
"""lines and files to read; for methods that are not named here, what the largest takes"""


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_understood_in_few_lines(name: str) -> None:
    found = reading(name)
    lines, files = MOST.get(name, (950, 14))
    assert sum(found.values()) <= lines, found
    assert len(found) <= files, found


def test_titles_and_markers_are_a_methods_own() -> None:
    classes = [method_class(name) for name in METHODS]
    assert all("title" in vars(found) and "look" in vars(found) for found in classes)
    assert len({found.title for found in classes}) == len(METHODS)


def test_file_cites(method: Method) -> None:
    module = inspect.getmodule(type(method))
    assert module is not None
    assert module.__doc__ is not None
    first = module.__doc__.splitlines()[0]
    assert first.endswith(".")
    assert len(first.split()) > 3
    assert CITATION.search(module.__doc__)


def is_fact(hint: Any) -> bool:
    """Whether a name belongs to the class; without a type, a setting would not be one."""
    return get_origin(hint) is ClassVar


def documented(found: type[Method]) -> set[str]:
    """The settings a class declares with a type and a line below that says what they are."""
    body = ast.parse(inspect.getsource(found)).body[0].body  # type: ignore[attr-defined]
    untyped = {ast.unparse(line.targets[0]) for line in body if isinstance(line, ast.Assign)}
    assert untyped <= {name for name, hint in get_type_hints(Method).items() if is_fact(hint)}
    return {
        line.target.id
        for line, below in pairwise(body)
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str) and below.value.value.strip()
    }


def test_settings_have_a_type_and_say_what_they_are(method: Method) -> None:
    bases = [base for base in type(method).__mro__ if issubclass(base, Method)]
    settings = {field.name for field in fields(method)}
    assert settings <= set().union(*(documented(base) for base in bases))
    assert settings <= get_type_hints(type(method)).keys()


def test_presets_name_settings_and_build(method: Method) -> None:
    for preset in method.presets.values():
        assert preset.keys() <= {field.name for field in fields(method)}
        built = type(method)(**preset)
        assert {name: getattr(built, name) for name in preset} == dict(preset)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_names_are_as_on_the_command_line(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert method_class(name).__dataclass_params__.frozen  # type: ignore[attr-defined]

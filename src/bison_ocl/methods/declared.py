"""What a method's file declares, read without importing it, because importing torch takes a second.

Settings with defaults, bounds and meanings; presets; class attributes. Constant expressions are
evaluated with the names of their own file and of the classes that it imports from this package.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bison_ocl import bounds, look
from bison_ocl.methods import METHODS
from bison_ocl.methods.outside import REGISTERED

if TYPE_CHECKING:
    from bison_ocl.methods.method import Method

PACKAGE = Path(__file__).parents[1]
EMPTY: Mapping[str, Any] = {}
VALUES = {"float": "a number", "int": "a whole number, 1 or more", "bool": "true or false"}


@dataclass(frozen=True)
class Setting:
    """A setting as its file declares it."""

    name: str
    default: Any
    values: str
    """which values it takes, in words"""
    meaning: str


class File(dict[str, Any]):
    """The names of a source file, evaluated when they are asked for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.body = ast.parse(text).body

    def __missing__(self, name: str) -> Any:
        """The value of a name at the top of the file; a class as its declaration."""
        self[name] = self._evaluated(name)
        return self[name]

    def _evaluated(self, name: str) -> Any:
        for node in self.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return Declared(self, node)
            if isinstance(node, ast.Assign) and identifier(node.targets[0]) == name:
                return self.value(node.value)
            if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
                light = node.module == look.__name__  # needs no torch, and a look is called
                return getattr(look, name) if light else of_module(node.module or "")[name]
        raise KeyError(name)

    def value(self, node: ast.expr) -> Any:
        """The value of a constant expression of this package's own source."""
        return eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}}, self)


@dataclass(frozen=True)
class Declared:
    """A class; an attribute is the first that the class or a base of it declares."""

    file: File = field(repr=False)
    node: ast.ClassDef = field(repr=False)

    def __getattr__(self, name: str) -> Any:
        if name not in self.assigned:
            raise AttributeError(name)
        file, value = self.assigned[name]
        self.__dict__[name] = file.value(value)  # evaluated once
        return self.__dict__[name]

    @cached_property
    def assigned(self) -> dict[str, tuple[File, ast.expr]]:
        """The expression of every attribute, and the file that it is in."""
        found: dict[str, tuple[File, ast.expr]] = {}
        for base in reversed(self.bases):
            found |= base.assigned
        for node in self.node.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                found[identifier(target)] = self.file, node.value
        return found

    @cached_property
    def bases(self) -> list[Declared]:
        found = [self.file[identifier(base)] for base in self.node.bases]
        return [base for base in found if isinstance(base, Declared)]

    def settings(self, data: str = "", chosen: Mapping[str, Any] = EMPTY) -> dict[str, Any]:
        """The settings on a dataset, by the names of their fields. chosen: values, or their text"""
        fields, presets = self.fields, self.presets.get(data, {})
        values = {name: setting.default for name, setting in fields.items()} | dict(presets)
        for name, setting in fields.items():
            if setting.name in chosen:
                values[name] = as_type(type(values[name]), chosen[setting.name])
        return values

    @cached_property
    def fields(self) -> dict[str, Setting]:
        """Settings by the names of their fields, those of bases first, as in a dataclass."""
        found: dict[str, Setting] = {}
        for base in reversed(self.bases):
            found |= base.fields
        for node, after in zip(self.node.body, [*self.node.body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                name, kind = identifier(node.target), ast.unparse(node.annotation)
                if not kind.startswith("ClassVar"):
                    default, meaning = self.file.value(node.value), docstring(after)
                    meaning = meaning or (found[name].meaning if name in found else "")
                    found[name] = Setting(name.rstrip("_"), default, values_of(kind), meaning)
        return found


def as_type(kind: type, value: Any) -> Any:
    """A value, or its text, as the type of a default."""
    return str(value).lower() == "true" if kind is bool else kind(value)


def identifier(node: ast.expr) -> str:
    """The name that an expression consists of; empty for any other expression."""
    return node.id if isinstance(node, ast.Name) else ""


def docstring(below: ast.stmt | None) -> str:
    """The docstring of a field: a string below it."""
    match below:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
    return ""


def values_of(kind: str) -> str:
    """Which values a type allows, in words."""
    if kind.startswith("Literal["):
        choices = ast.literal_eval(f"({kind[len('Literal[') : -1]},)")
        return " or ".join(map(str, choices))
    if kind in VALUES:
        return VALUES[kind]
    (bound,) = getattr(bounds, kind).__metadata__
    return str(bound.words)


@cache
def of_module(name: str) -> File:
    """A module of this package; an empty file for any other."""
    path = PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
    inside = name.startswith(f"{PACKAGE.name}.")
    return File(path.read_text("utf-8") if inside and path.exists() else "")


@cache
def declared(name: str) -> Declared:
    """The class of a method of the package."""
    module, _, class_name = METHODS[name].rpartition(".")
    found: Declared = of_module(f"bison_ocl.methods.{module}")[class_name]
    return found


def facts(name: str) -> type[Method] | Declared | None:
    """What tables and plans know of a method: its file, or the class of one from outside.

    None where a file of records names a method that is neither of the package nor named by the
    user: that is no reason to import code.
    """
    if name in REGISTERED:
        return REGISTERED[name].method
    return declared(name) if name in METHODS else None


def settings_on(name: str, data: str, chosen: Mapping[str, Any] = EMPTY) -> dict[str, Any]:
    """All settings of a method by their public names, as records keep them; none if not known.

    chosen: values, or their text; those that the method does not read are left out.
    """
    found = facts(name)
    if found is None:
        return {}
    read = {key: value for key, value in chosen.items() if key not in found.ignores}
    if isinstance(found, Declared):
        return {key.rstrip("_"): value for key, value in found.settings(data, read).items()}
    from bison_ocl.methods.settings import built, settings_of  # needs torch

    names = {field.name.rstrip("_") for field in fields(found)}
    return settings_of(built(found, data, {key: read[key] for key in read if key in names}))

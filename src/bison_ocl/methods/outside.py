"""Methods from outside the package: in a file, `mine.py:Mine`, or in an installed package.

Only methods that the user names are imported: by a path on the command line, or an entry point of
the group `bison_ocl.methods`. Records, checkpoints and learner files never cause an import.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, TypeGuard

from bison_ocl.errors import UserError, reason

if TYPE_CHECKING:
    from bison_ocl.methods.method import Method

GROUP = "bison_ocl.methods"


@dataclass(frozen=True)
class MethodFile:
    """The file of a method, sent with the work to other processes and machines."""

    path: str
    class_name: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class OutsideMethod:
    """A method from outside, known to this process."""

    method: type[Method]
    digest: str | None
    """of its source; None if there is none, as in an interactive session"""
    source: MethodFile | None = None


REGISTERED: dict[str, OutsideMethod] = {}
"""methods that the user named in this process, by name"""


def source_of(name: str) -> MethodFile | None:
    """The file of a method; None if it did not come from one."""
    return REGISTERED[name].source if name in REGISTERED else None


def source_digest(name: str) -> str | None:
    """The digest of the source of a method from outside; None for one of the package."""
    return REGISTERED[name].digest if name in REGISTERED else None


def check_source(digest: str | None, name: str, where: str) -> None:
    """Refuse results of another version of a method from outside."""
    if digest != source_digest(name):
        raise UserError(f"{where} comes from another version of {name}: choose another --out")


def is_reference(text: str) -> bool:
    """Whether a method is named by its file, as `path/to/mine.py:Mine`."""
    return text.rpartition(":")[0].endswith(".py")


def read(reference: str) -> MethodFile:
    """The source of `path/to/mine.py:Mine`, not executed yet."""
    path, _, class_name = reference.rpartition(":")
    try:
        return MethodFile(path, class_name, Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise UserError(f"cannot read {path}: {why}; give path/to/file.py:Class") from error


def register_file(source: MethodFile) -> str:
    """Execute a file and register its class; returns the method's name."""
    module = executed(source)
    found = getattr(module, source.class_name, None)
    if found is None:
        here = module.__name__
        classes = [k for k, v in vars(module).items() if is_method(v) and v.__module__ == here]
        others = f": it has {', '.join(classes)}" if classes else ""
        raise UserError(f"{source.path} has no class {source.class_name!r}{others}")
    return register(OutsideMethod(found, source.digest, source))


def executed(source: MethodFile) -> ModuleType:
    """The module of a file, registered in Python under a name with its digest."""
    name = f"bison_ocl_outside_{source.digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = source.path
    sys.modules[name] = module  # dataclasses look up their module at creation
    try:
        exec(compile(source.text, source.path, "exec"), vars(module))
    except Exception as error:
        del sys.modules[name]
        fault = f"{source.path} cannot be run: {one_line(error, source.path)}"
        if isinstance(error, ModuleNotFoundError):
            fault += "; it may import installed packages, but no other file of its folder"
        raise UserError(fault) from error
    return module


def one_line(error: Exception, file: str | None = None) -> str:
    """An error of a method's code, with the last line of its file that was being executed."""
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    frames = walk_tb(error.__traceback__)
    lines = [number for frame, number in frames if frame.f_code.co_filename == file]
    return f"{text} ({Path(file).name} line {lines[-1]})" if file and lines else text


def register(outside: OutsideMethod) -> str:
    """Register a class under the name derived from its title."""
    from bison_ocl.methods import METHODS

    check_method(outside.method)
    name = slug(outside.method.title)
    if name in METHODS:
        raise UserError(f"{outside.method.__name__}: the name {name} is taken; change the title")
    REGISTERED[name] = outside
    return name


def check_method(found: object) -> None:
    """Refuse anything but a subclass of Method with a title."""
    if not is_method(found):
        raise UserError(f"{found!r} is not a method: expected a subclass of Method")
    if not vars(found).get("title"):
        raise UserError(f"{found.__name__} has no title: add `title = ...` to the class")
    if not slug(found.title):
        raise UserError(
            f"{found.__name__} has the title {found.title!r}: expected a letter from a to z or a "
            "digit in it, because files name the method after it"
        )


def slug(title: str) -> str:
    """A title as a name on the command line and in files: `My Method` as `my-method`."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def is_method(value: object) -> TypeGuard[type[Method]]:
    from bison_ocl.methods.method import Method

    return isinstance(value, type) and issubclass(value, Method)


def installed() -> dict[str, EntryPoint]:
    """Entry points of methods in installed packages, by name, without importing them."""
    return {point.name: point for point in entry_points(group=GROUP)}


def register_installed(point: EntryPoint) -> str:
    """Import the method of an installed package."""
    try:
        found = point.load()
    except Exception as error:
        raise UserError(f"{point.value} cannot be imported: {one_line(error)}") from error
    if (name := register(OutsideMethod(found, digest_of(found)))) != point.name:
        raise UserError(
            f"entry point {point.name}: rename it {name}, as the title of {point.value}"
        )
    return name


def place_of(found: type) -> str:
    """A class by its file, as `path/to/mine.py:Mine`."""
    return f"{inspect.getsourcefile(found)}:{found.__name__}"


def digest_of(found: type) -> str | None:
    """The digest of the file that defines a class."""
    try:
        file = inspect.getsourcefile(found)
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else None
    except (OSError, TypeError):
        return None

"""Methods that live outside the package: in a file, `mine.py:Mine`, or in an installed package.

Only what the user names is imported: a path on the command line, or an entry point of the group
`bison_ocl.methods`. No record, checkpoint or learner file is ever a reason to import code.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from bison_ocl.errors import UserError, reason

if TYPE_CHECKING:
    from bison_ocl.methods.method import Method

GROUP = "bison_ocl.methods"


@dataclass(frozen=True)
class Source:
    """The file of a method, which travels with the work to other processes and machines."""

    path: str
    class_name: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Guest:
    """A method from outside that this process was told of."""

    method: type[Method]
    digest: str | None
    """of its source; None where a class has none, as in an interactive session"""
    source: Source | None = None


GUESTS: dict[str, Guest] = {}
"""by name: what the user named in this process"""


def source_of(name: str) -> Source | None:
    """The file of a method that came from one."""
    return GUESTS[name].source if name in GUESTS else None


def source_digest(name: str) -> str | None:
    """The digest of the source of a method from outside; None for one of the package."""
    return GUESTS[name].digest if name in GUESTS else None


def check_source(digest: str | None, name: str, where: str) -> None:
    """Refuse what was computed by another version of a method from outside."""
    if digest != source_digest(name):
        raise UserError(f"{where} is of another version of {name}: choose another --out")


def is_reference(text: str) -> bool:
    """Whether a method is named by its file, as `path/to/mine.py:Mine`."""
    return text.rpartition(":")[0].endswith(".py")


def read(reference: str) -> Source:
    """The file that `path/to/mine.py:Mine` names, not run yet."""
    path, _, class_name = reference.rpartition(":")
    try:
        return Source(path, class_name, Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise UserError(f"cannot read {path}: {why}; give path/to/file.py:Class") from error


def admit(source: Source) -> str:
    """Run a file and take in its class; the name that records and commands know it by."""
    module = executed(source)
    found = getattr(module, source.class_name, None)
    if found is None:
        classes = [name for name, one in vars(module).items() if is_own_method(one, module)]
        told = f": it has {', '.join(classes)}" if classes else ""
        raise UserError(f"{source.path} has no class {source.class_name!r}{told}")
    return welcome(Guest(found, source.digest, source))


def executed(source: Source) -> ModuleType:
    """The module of a file, known to Python by a name that holds its digest."""
    name = f"bison_ocl_outside_{source.digest[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = source.path
    sys.modules[name] = module  # dataclasses look up their module while they are made
    try:
        exec(compile(source.text, source.path, "exec"), vars(module))
    except Exception as error:
        del sys.modules[name]
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"{source.path} cannot be run: {line}") from error
    return module


def welcome(guest: Guest) -> str:
    """Take in a class, under the name that its title makes."""
    from bison_ocl.methods import METHODS

    check_method(guest.method)
    name = slug(guest.method.title)
    if name in METHODS:
        raise UserError(f"{guest.method.__name__}: the title makes the name {name}, which is taken")
    GUESTS[name] = guest
    return name


def check_method(found: object) -> None:
    """Refuse what is no class of a method, or has no title."""
    from bison_ocl.methods.method import Method

    if not (isinstance(found, type) and issubclass(found, Method)):
        raise UserError(f"{found!r} is no method: give a subclass of Method")
    if not vars(found).get("title"):
        raise UserError(f"{found.__name__} declares no title: add `title = ...` to the class")


def slug(title: str) -> str:
    """A title as a name on the command line and in files: `My Method` as `my-method`."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def is_own_method(value: object, module: ModuleType) -> bool:
    from bison_ocl.methods.method import Method

    return (
        isinstance(value, type)
        and issubclass(value, Method)
        and value.__module__ == module.__name__
    )


def installed() -> dict[str, EntryPoint]:
    """The methods of installed packages, by name, not imported."""
    return {point.name: point for point in entry_points(group=GROUP)}


def admit_installed(point: EntryPoint) -> str:
    """Import the method of an installed package."""
    try:
        found = point.load()
    except Exception as error:
        line = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UserError(f"{point.value} cannot be imported: {line}") from error
    if (name := welcome(Guest(found, digest_of(found)))) != point.name:
        raise UserError(f"entry point {point.name}: the title of {point.value} makes {name}")
    return name


def digest_of(found: type) -> str | None:
    """Of the file in which a class stands."""
    try:
        file = inspect.getsourcefile(found)
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else None
    except (OSError, TypeError):
        return None

"""The methods by name; a class is imported when it is asked for, one from outside by the user."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bison_ocl.errors import UserError, unknown
from bison_ocl.methods import outside

if TYPE_CHECKING:
    from bison_ocl.methods.method import Method

METHODS = {
    "bison": "bison.Bison",
    "bison-ald": "bison_ald.BisonALD",
    "er": "er.ER",
    "er-ace": "er_ace.ERACE",
    "mir": "mir.MIR",
    "gss": "gss.gss.GSS",
    "agem": "agem.AGEM",
    "gdumb": "gdumb.gdumb.GDumb",
    "scr": "scr.SCR",
    "aser": "aser.aser.ASER",
    "ssil": "ssil.SSIL",
    "er-dvc": "dvc.DVC",
    "ocm": "ocm.ocm.OCM",
    "pcr": "pcr.PCR",
    "lode": "lode.LODE",
    "derpp": "derpp.DERPlusPlus",
    "onpro": "onpro.onpro.OnPro",
    "finetune": "finetune.FineTune",
}


def named(text: str) -> str:
    """The name of a method that the user gives by name or by file, `path/to/mine.py:Mine`.

    One from outside the package is imported here, and known by its name from then on; a name that
    nobody knows stays as it is.
    """
    if text in METHODS or text in outside.GUESTS:
        return text
    if outside.is_reference(text):
        return outside.admit(outside.read(text))
    packages = outside.installed()
    return outside.admit_installed(packages[text]) if text in packages else text


def method_class(text: str) -> type[Method]:
    """The class of a method that the user names."""
    found = known(named(text))
    if found is None and text.endswith(".py"):
        raise UserError(f"{text}: expected the file and its class, such as {text}:Mine")
    if found is None:
        raise UserError(unknown("method", text, [*METHODS, *outside.installed()]))
    return found


def known(name: str) -> type[Method] | None:
    """The class of a method of the package, or of one that the user has named; for names in files.

    None where a file names another: that is no reason to import code.
    """
    if name in outside.GUESTS:
        return outside.GUESTS[name].method
    if name not in METHODS:
        return None
    module, _, attribute = METHODS[name].rpartition(".")
    found: type[Method] = getattr(import_module(f"{__name__}.{module}"), attribute)
    return found


def name_of(method: type[Method]) -> str:
    """The name of a class on the command line and in files."""
    place = f"{method.__module__.removeprefix(f'{__name__}.')}.{method.__qualname__}"
    names = {path: name for name, path in METHODS.items()}
    return names.get(place) or outside.slug(method.title)

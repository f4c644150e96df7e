"""Methods by name; a class is imported on first use, one from outside if the user names it."""

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


def registered_name(text: str) -> str:
    """The name of a method that the user gives by name or by file, `path/to/mine.py:Mine`.

    A method from outside the package is imported and registered; an unknown name is returned as is.
    """
    if text in METHODS or text in outside.REGISTERED:
        return text
    if outside.is_reference(text):
        return outside.register_file(outside.read(text))
    packages = outside.installed()
    return outside.register_installed(packages[text]) if text in packages else text


def method_class(text: str) -> type[Method]:
    """The class of a method that the user names."""
    found = known_class(registered_name(text))
    if found is None and text.endswith(".py"):
        raise UserError(f"{text}: expected the file and its class, such as {text}:Mine")
    if found is None:
        raise UserError(unknown("method", text, [*METHODS, *outside.installed()]))
    return found


def known_class(name: str) -> type[Method] | None:
    """The class of a method of the package or of a registered one; None for any other name.

    Names in files are looked up here: a file is no reason to import code.
    """
    if name in outside.REGISTERED:
        return outside.REGISTERED[name].method
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

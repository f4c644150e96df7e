"""The methods by name; a class is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bison_ocl.errors import UserError, unknown

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
    "onpro": "onpro.onpro.OnPro",
    "finetune": "finetune.FineTune",
}


def method_class(name: str) -> type[Method]:
    """The class of a method, by its name on the command line."""
    if name not in METHODS:
        raise UserError(unknown("method", name, METHODS))
    module, _, attribute = METHODS[name].rpartition(".")
    found: type[Method] = getattr(import_module(f"{__name__}.{module}"), attribute)
    return found

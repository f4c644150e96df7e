"""What a learner is made with, refused in one line where nothing can be built on it."""

from __future__ import annotations

from operator import index
from typing import Any

import torch
from torch import nn

from bison_ocl.errors import UserError, unknown
from bison_ocl.inference.rules import RULES
from bison_ocl.methods.method import Method
from bison_ocl.methods.outside import check_method
from bison_ocl.methods.settings import built, configured

LEAST = {"memory": 0, "seed": 0, "classes": 1, "task_gap": 1, "refresh": 1}


def whole(name: str, value: Any) -> int:
    """A whole number of Python or numpy, refused if out of range."""
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = -1
    if not LEAST[name] <= number < 2**62:
        raise UserError(f"{name}={value!r}: expected a whole number of at least {LEAST[name]}")
    return number


def method_of(method: object, settings: dict[str, Any]) -> Method:
    """The method of a name, a class or an object."""
    if isinstance(method, str):
        return configured(method, None, settings)
    if isinstance(method, Method):
        check_method(type(method))
        if settings:
            given = ", ".join(settings)
            raise UserError(f"{given}: give settings to {type(method).__name__}(...) itself")
        return method
    if not isinstance(method, type):
        raise UserError(f"method={method!r}: expected a name, such as 'bison', or a class")
    check_method(method)
    return built(method, None, settings)


def check_backbone(backbone: object, method: Method) -> None:
    """Refuse a backbone that is no module, and settings of the network that it replaces."""
    if not (backbone is None or isinstance(backbone, nn.Module)):
        raise UserError(f"backbone={backbone!r}: expected a torch.nn.Module that returns features")
    if backbone is not None and method.filters != type(method).filters:
        raise UserError(f"filters={method.filters} has no effect with backbone: leave it out")


def check_rule(name: object, method: Method) -> None:
    """A rule of inference that there is, for a method with a memory to read."""
    if name is None:
        return
    if name not in list(RULES):
        raise UserError(unknown("rule", str(name), RULES))
    if not method.replays:
        raise UserError(f"rule={name!r} needs a memory, but this method has none")


def found_device(name: str) -> str:
    """The device of a name, `auto` included; refused if torch does not know or find it."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(name).type
    except (RuntimeError, TypeError):
        kind = "unknown"
    if kind not in ("cpu", "cuda"):
        raise UserError(f"device={name!r}: expected cpu, cuda or auto")
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device={name!r}: torch finds no GPU here; use cpu")
    return name

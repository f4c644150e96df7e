"""Backbones that a run names: `package.module:factory`, or `timm:NAME`.

Only what the user names on the command line is imported; records never cause an import.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bison_ocl.errors import UserError, first_line
from bison_ocl.methods.method import Method
from bison_ocl.nets.module import ModuleBackbone

NAME = "backbone"
"""where the settings of a run's identity name its backbone; absent for the method's own"""


def check_backbone(text: str | None, method: Method) -> None:
    """Refuse, before any data is opened, a name that makes no module."""
    if text is None:
        return
    if method.filters != type(method).filters:
        raise UserError(f"filters={method.filters} has no effect with --backbone: leave it out")
    module_of(text, 0)


def backbone_of(text: str, seed: int, shape: tuple[int, ...]) -> ModuleBackbone:
    """The backbone of a run, normalised as its authors say, if they do (`pretrained_cfg`)."""
    module = module_of(text, seed)
    config: Any = getattr(module, "pretrained_cfg", None) or {}
    mean, deviation = config.get("mean"), config.get("std")
    known = mean is not None and deviation is not None
    return ModuleBackbone(module, shape, (tuple(mean), tuple(deviation)) if known else None)


def module_of(text: str, seed: int) -> nn.Module:
    """What the named factory makes; random weights are drawn by the run's seed."""
    place, _, name = text.partition(":")
    if not place or not name:
        raise UserError(f"--backbone {text}: expected package.module:factory or timm:NAME")
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            made = timm_model(name) if place == "timm" else made_by(factory(place, name), text)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"--backbone {text}: {first_line(error)}; check the name") from error
    if not isinstance(made, nn.Module):
        kind = type(made).__name__
        raise UserError(f"--backbone {text}: expected a torch.nn.Module, found a {kind}")
    return made


def factory(place: str, name: str) -> Any:
    """A function by its module, which may lie in the current folder."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return getattr(import_module(place), name)
    finally:
        sys.path.remove(here)


def made_by(make: Any, text: str) -> Any:
    """What a factory makes; where it fails, its name was right."""
    try:
        return make()
    except Exception as error:
        why = f"{type(error).__name__}: {first_line(error)}"
        raise UserError(f"--backbone {text} failed ({why}): correct the function") from error


def timm_model(name: str) -> Any:
    """A pretrained network of timm without its classifier: features [B, d]."""
    try:
        timm = import_module("timm")
    except ModuleNotFoundError as error:
        missing = f"{error.name} missing: pip install timm"
        raise UserError(f"--backbone timm:{name}: {missing}") from error
    return timm.create_model(name, pretrained=True, num_classes=0)

"""A method's declarations are true: title, settings, and ignored settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from inspect import getdoc, getmodule
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import torch

from bison_ocl.contract.moments import CLASSES, course, demand
from bison_ocl.contract.world import SHAPE, begin, held_out, same, snapshot
from bison_ocl.engine.step import Engine
from bison_ocl.errors import UserError
from bison_ocl.methods.method import Method
from bison_ocl.methods.settings import built, typed

CAPACITY = 25
"""images of the memory: no multiple of a batch, so that one batch fits in part"""
OUTSIDE = ("stream_batch", "average")
"""settings that the stream and the engine read, but no hook"""


def declared(method: Method) -> None:
    """It has its own title and docstring; its settings are typed fields with defaults."""
    kind = type(method)
    demand(is_dataclass(kind) and "__dataclass_fields__" in vars(kind), "it is no dataclass")
    demand(kind.__dataclass_params__.frozen, "its dataclass is not frozen")  # type: ignore[attr-defined]
    demand(bool(vars(kind).get("title")), "it declares no `title` of its own")
    module = getmodule(kind)
    demand(bool(module and getdoc(module)), "its file has no docstring: say what it is, and cite")
    settings = {field.name for field in fields(method)}
    untyped = settings & (vars(kind).keys() - kind.__annotations__.keys())
    demand(not untyped, f"{', '.join(sorted(untyped))}: a setting needs its type to take effect")
    facts = {name for name, hint in get_type_hints(Method).items() if get_origin(hint) is ClassVar}
    other = kind.__annotations__.keys() - settings - facts
    demand(not other, f"{', '.join(sorted(other))}: neither a setting nor a fact of a method")


def presets(method: Method) -> None:
    """Its presets are valid settings, and settings survive conversion to text."""
    hints = get_type_hints(type(method), include_extras=True)
    for field in fields(method):
        value = getattr(method, field.name)
        read = typed(field.name, str(value), hints[field.name])
        demand(read == value, f"{field.name}={value} reads back as {read}")
    for data, preset in method.presets.items():
        unknown = preset.keys() - {field.name for field in fields(method)}
        demand(not unknown, f"the preset of {data} sets {', '.join(sorted(unknown))}")
        built(type(method), data, {})


def read(method: Method) -> None:
    """It reads or refuses every setting, and `ignores` lists the rest."""
    usual = effect(method)
    for field in fields(method):
        if field.name in OUTSIDE:
            continue
        name = field.name.rstrip("_")
        found = [effect(other) for other in variants(method, field.name)]
        matters = any(not same(usual, other) for other in found)
        ignored = field.name in method.ignores
        demand(matters or ignored or not found, f"{name} has no effect: list it in `ignores`")
        demand(not (matters and ignored), f"{name} has an effect, though `ignores` lists it")


def variants(method: Method, name: str) -> Iterator[Method]:
    """The method with other values of one setting, those that it accepts."""
    hint = get_type_hints(type(method), include_extras=True)[name]
    for value in others(getattr(method, name), hint):
        try:
            yield replace(method, **{name: typed(name, value, hint)})
        except UserError:
            continue


def others(value: Any, hint: Any) -> list[Any]:
    """Values that a setting does not have now."""
    if get_origin(hint) is Literal:
        return [choice for choice in get_args(hint) if choice != value]
    if isinstance(value, bool):
        return [not value]
    return [1, value + 1, 2 * value] if isinstance(value, int) else [value / 100, value + 1]


def effect(method: Method) -> dict[str, torch.Tensor]:
    """The outcome of a short run, with room for a class that never arrives."""
    engine, me = Engine(method), begin(method, classes=CLASSES + 1, capacity=CAPACITY)
    me = method.numbered(me, torch.arange(CLASSES + 1).flip(0))
    for task in course(0):
        for new in task:
            me, _ = engine.step(me, new)
        me = engine.end_task(me)
    scores = engine.scores(me, engine.summarise(me), held_out(classes=CLASSES).x)
    width = torch.tensor(method.backbone(SHAPE).features)
    return snapshot({"net": me.net, "memory": me.memory, "scores": scores, "width": width})

"""Configure a method: defaults, then the dataset's preset, then the user's settings.

Settings are the fields of the method's dataclass; `lambda` is the field `lambda_`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from bison_ocl.errors import UserError, unknown
from bison_ocl.methods import method_class, name_of
from bison_ocl.methods.method import Method


def configured(name: str, data: str | None, settings: Mapping[str, Any]) -> Method:
    """The method `name` for a dataset, with settings as values or as text."""
    return built(method_class(name), data, settings)


def built(
    found: type[Method],
    data: str | None,
    settings: Mapping[str, Any],
    others: Sequence[str] = (),
) -> Method:
    """A method of a class, in the same way. others: names that an unknown one may mean, too"""
    name = name_of(found)
    hints = get_type_hints(found, include_extras=True)
    names = {field.name.rstrip("_"): field.name for field in fields(found)}
    values: dict[str, Any] = dict(found.presets.get(data or "", {}))
    for key, value in settings.items():
        shown = key.rstrip("_")
        if shown not in names:
            raise UserError(unknown(f"setting of {name}", shown, [*names, *others]))
        values[names[shown]] = accepted(found, names[shown], value, hints[names[shown]])
    return found(**values)


def checked_method(method: Method) -> Method:
    """A method from a call of its class, with settings that it also accepts by name.

    Fields of other types, which no name can set, are the class's own business.
    """
    found = type(method)
    hints = get_type_hints(found, include_extras=True)
    names = [field.name for field in fields(method) if field.init and is_typed(hints[field.name])]
    values = {name: accepted(found, name, getattr(method, name), hints[name]) for name in names}
    return replace(method, **values)


def accepted(found: type[Method], name: str, value: Any, hint: Any) -> Any:
    """The value of a field of a class, refused out of bounds or where the method ignores it."""
    shown = name.rstrip("_")
    value = typed(shown, value, hint)
    if shown in found.ignores and value != getattr(found, name):
        raise UserError(f"{shown} has no effect on {name_of(found)}: leave it out")
    return value


def parse(assignments: Sequence[str]) -> dict[str, str]:
    """`key=value` texts as a dict."""
    found: dict[str, str] = {}
    for text in assignments:
        key, _, value = (part.strip() for part in text.partition("="))
        if not (key and value):
            raise UserError(f"--set {text!r}: expected key=value")
        if key in found:
            raise UserError(f"--set {key} is given twice, {found[key]} and {value}: give it once")
        found[key] = value
    return found


def settings_of(method: Method) -> dict[str, Any]:
    """All settings by their public names, as records keep them."""
    return {name.rstrip("_"): value for name, value in asdict(method).items()}


def typed(name: str, value: Any, hint: Any) -> Any:
    """A value, or its text, as the type a setting has."""
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        if value not in choices:
            raise UserError(f"{name}={value}: choose from {', '.join(map(str, choices))}")
        return value
    kind, *bounds = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    if kind not in WORDS:
        shown = getattr(kind, "__name__", kind)
        raise UserError(f"{name} is of type {shown}: expected bool, int, float or Literal")
    try:
        number = {bool: to_bool, int: to_count, float: to_number}[kind](value)
    except (ValueError, TypeError, OverflowError) as error:
        raise UserError(f"{name}={value}: expected {WORDS[kind]}") from error
    for bound in bounds:
        if not bound.holds(number):
            raise UserError(f"{name}={number:g}: expected {bound.words}")
    return number


def is_typed(hint: Any) -> bool:
    """Whether `typed` knows the type of a setting."""
    kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return kind in WORDS or get_origin(hint) is Literal


WORDS = {
    bool: "true or false",
    int: "a whole number from 1 to 2,147,483,647",
    float: "a finite number",
}


def to_bool(value: Any) -> bool:
    texts = {"true": True, "false": False}
    if str(value).lower() not in texts:
        raise ValueError(value)
    return texts[str(value).lower()]


def to_count(value: Any) -> int:
    if isinstance(value, float) or not 1 <= int(value) < 2**31:
        raise ValueError(value)
    return int(value)


def to_number(value: Any) -> float:
    if not math.isfinite(number := float(value)):
        raise ValueError(value)
    return number

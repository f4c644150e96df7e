"""What is read from a method's file is what its class has; and torch is not needed for it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import get_type_hints

import pytest

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.declared import File, declared, facts, settings_on
from bison_ocl.methods.settings import configured, settings_of, typed


@pytest.mark.parametrize("name", METHODS)
def test_settings_presets_and_attributes_are_those_of_the_class(name: str) -> None:
    found, real = declared(name), method_class(name)
    assert list(found.fields) == [field.name for field in fields(real)]
    assert {key: dict(value) for key, value in found.presets.items()} == real.presets
    attributes = ("title", "kind", "look", "replays", "ignores", "learned", "scored", "boundaries")
    for attribute in attributes:
        assert getattr(found, attribute) == getattr(real, attribute), attribute
    for data in ("", "split-digits", "split-cifar10", "split-cifar100"):
        expected = settings_of(configured(name, data, {}))
        assert list(settings_on(name, data).items()) == list(expected.items())


@pytest.mark.parametrize("item", ITEMS)
def test_settings_of_planned_cells_are_those_of_the_method(item: str) -> None:
    for cell in ITEMS[item].cells:
        expected = settings_of(configured(cell.method, cell.data, dict(cell.settings)))
        found = settings_on(cell.method, cell.data, dict(cell.settings))
        assert list(found.items()) == list(expected.items())


def test_a_setting_without_effect_keeps_its_default() -> None:
    assert settings_on("gdumb", "", {"average": "0.9"}) == settings_on("gdumb", "")


def test_an_unknown_method_has_neither_facts_nor_settings() -> None:
    assert facts("mine") is None
    assert settings_on("mine", "") == {}


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_has_a_meaning_and_takes_its_default(name: str) -> None:
    hints = get_type_hints(method_class(name), include_extras=True)
    for field, setting in declared(name).fields.items():
        assert setting.meaning
        assert typed(setting.name, setting.default, hints[field]) == setting.default
        kinds = {bool: "true or false", int: "a whole number, 1 or more"}
        assert kinds.get(type(setting.default), setting.values) == setting.values


def test_nothing_heavy_is_imported() -> None:
    code = "from bison_ocl.methods.declared import declared; declared('onpro').fields; "
    code += "import sys; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_base_that_is_not_ours_declares_nothing() -> None:
    file = File("from other import Thing\nclass One(Method):\n    x: int = 2\n    'twice'\n")
    with pytest.raises(KeyError):
        file["One"].bases  # noqa: B018

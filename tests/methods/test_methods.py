"""The table of methods."""

from __future__ import annotations

import pytest

from bison_ocl.errors import UserError
from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.bison import Bison
from bison_ocl.methods.method import Method


@pytest.mark.parametrize("name", METHODS)
def test_every_name_is_a_method(name: str) -> None:
    assert issubclass(method_class(name), Method)
    method_class(name)()


def test_a_name_gives_its_class() -> None:
    assert method_class("bison") is Bison


def test_an_unknown_name_is_told_its_neighbour() -> None:
    with pytest.raises(UserError, match="did you mean 'bison'"):
        method_class("bisson")
    with pytest.raises(UserError, match="choose from"):
        method_class("xyzzy")

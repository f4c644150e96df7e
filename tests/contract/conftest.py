"""What the tests of the contract share: every method."""

from __future__ import annotations

import pytest

from bison_ocl.methods import METHODS, method_class
from bison_ocl.methods.method import Method


@pytest.fixture(params=sorted(METHODS))
def method(request: pytest.FixtureRequest) -> Method:
    """Every method there is, with its default settings."""
    return method_class(request.param)()

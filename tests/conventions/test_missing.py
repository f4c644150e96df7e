"""Without the other library, the import of its conventions names the extra to install."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("library", "module", "extra"),
    [("sklearn", "scikit_learn", "sklearn"), ("river", "river", "river")],
)
def test_a_missing_library_names_its_extra(
    library: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"bison_ocl.conventions.{module}", raising=False)
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"missing: pip install 'bison-ocl\[{extra}\]'"):
        import_module(f"bison_ocl.conventions.{module}")

"""What there is, read from the docstrings of files that are not imported.

The first line of a method's or dataset's file says what it is, the next one cites.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType


def listing(package: ModuleType, modules: Mapping[str, str]) -> str:
    """Name, what it is and where it comes from, for modules of a package."""
    assert package.__file__
    folder = Path(package.__file__).parent
    width = max(len(name) for name in modules) + 2
    lines = []
    for name, module in modules.items():
        text = ast.get_docstring(ast.parse((folder / f"{module}.py").read_text("utf-8"))) or ""
        what, _, source = text.partition("\n\n")
        lines += [f"{name:<{width}}{what}", f"{'':<{width}}{source.partition(chr(10))[0]}"]
    return "\n".join(line.rstrip() for line in lines)

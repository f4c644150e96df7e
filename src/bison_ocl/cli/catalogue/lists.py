"""Lists of methods, datasets and streams, read from source files without importing them.

The first line of a file's docstring describes it, the next paragraph cites its source.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z`])")


def listing(package: ModuleType, modules: Mapping[str, str]) -> str:
    """Name, description and source of modules of a package."""
    width = max(len(name) for name in modules) + 2
    lines = []
    for name, module in modules.items():
        what, source = described(package, module)
        lines += [f"{name:<{width}}{what}", f"{'':<{width}}{source}"]
    return "\n".join(line.rstrip() for line in lines)


def method_listing(package: ModuleType, modules: Mapping[str, str]) -> str:
    """Name, kind, use of task ends, description and source of methods."""
    lines = ["method    kind  ends  description and source"]
    for name, module in modules.items():
        what, source = described(package, module)
        facts = class_facts(package, module)
        ends = "yes" if facts.get("boundaries") else "no"
        lines += [
            f"{name:<10}{facts.get('kind') or '–':<6}{ends:<6}{what}",
            f"{'':<22}{source}",
        ]
    notes = "kind: T training distinction, F feature enhancement. ends: training uses task ends."
    return "\n".join([*lines, notes])


def described(package: ModuleType, module: str) -> tuple[str, str]:
    """The first line of a file's docstring, and the first sentence of the paragraph after it."""
    what, _, rest = (ast.get_docstring(parsed(package, module)) or "").partition("\n\n")
    paragraph = " ".join(rest.partition("\n\n")[0].split())
    return what, SENTENCE_END.split(paragraph, maxsplit=1)[0]


def class_facts(package: ModuleType, module: str) -> dict[str, Any]:
    """The constants that a file's classes declare."""
    facts: dict[str, Any] = {}
    for node in ast.walk(parsed(package, module)):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            facts[ast.unparse(target)] = node.value.value
    return facts


def parsed(package: ModuleType, module: str) -> ast.Module:
    assert package.__file__
    file = Path(package.__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    return ast.parse(file.read_text("utf-8"))

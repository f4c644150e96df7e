"""Tutorials: scripts divided into cells, as pages and as notebooks."""

from __future__ import annotations

from pathlib import Path

import jupytext
from nbformat import NotebookNode


def cells(script: Path) -> NotebookNode:
    """A script in the percent format, `# %%` before each cell."""
    found: NotebookNode = jupytext.reads(script.read_text("utf-8"), "py:percent")
    return found


def notebook(script: Path) -> str:
    """The script as a notebook, to download."""
    text: str = jupytext.writes(cells(script), "ipynb")
    return text


def page(script: Path) -> str:
    """The script as a page: prose as it is, code in blocks."""
    title, *rest = map(shown, cells(script).cells)
    files = f"Download: [notebook]({script.stem}.ipynb), [script]({script.name})."
    return "\n\n".join([title, files, *rest]) + "\n"


def shown(cell: NotebookNode) -> str:
    """A cell as Markdown."""
    source: str = cell.source
    return source if cell.cell_type == "markdown" else f"```python\n{source}\n```"

"""Settings of Sphinx for the documentation site."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

project = "bison-ocl"
project_copyright = "the bison-ocl authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
html_theme = "furo"
html_title = "bison-ocl"
html_static_path, html_css_files = ["static"], ["site.css"]
html_copy_source = html_show_sourcelink = False
html_show_search_summary = False  # it fetches pages, which browsers refuse for local files
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
toc_object_entries_show_parents = "hide"

CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
SPECIAL = re.compile(r"([*|\\]|\w_\b)")


def to_restructured_text(line: str) -> str:
    """A line of a docstring, written in Markdown, as Sphinx reads it."""
    parts = CODE.split(line)  # text, ticks, code, text, ticks, code, ..., text
    texts = [SPECIAL.sub(lambda found: escaped(found.group()), text) for text in parts[::3]]
    codes = [f"``{code}``" for code in parts[2::3]]
    return "".join(one for pair in zip(texts, [*codes, ""], strict=True) for one in pair)


def escaped(text: str) -> str:
    return f"{text[:-1]}\\{text[-1]}"


def convert(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Called for each docstring; changes its lines."""
    lines[:] = [to_restructured_text(line) for line in lines]


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", convert)

"""The documentation site: it builds without warnings, and its links, notebooks and pages exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tools.site import reference
from tools.site.__main__ import build
from tools.site.conf import to_restructured_text
from tools.site.contents import SECTIONS
from tools.site.diagram import arrows, rows
from tools.site.places import on_site, relinked
from tools.site.tutorials import notebook, page

from bison_ocl.methods import METHODS

ROOT = Path(__file__).parent.parent
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.py"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # between Sphinx and its extensions
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    assert build(tmp_path) == 0
    site = tmp_path / "site"
    pages = [page for section in SECTIONS.values() for page in section] + [*reference.titles()]
    for place in ("index.md", "report/report.md", *pages):
        assert (site / place).with_suffix(".html").is_file(), place
    assert len(list(site.glob("_downloads/*/*.ipynb"))) == len(TUTORIALS)
    state = (site / "api/State.html").read_text("utf-8")
    assert "Mask of the classes of earlier tasks." in state
    assert "<svg" in (site / "design.html").read_text("utf-8")
    for file in site.glob("*.html"):
        for image in re.findall(r'href="(_images/[^"]+)"', file.read_text("utf-8")):
            assert (site / image).is_file(), f"{file.name}: {image}"
    assert "https://fonts" not in (site / "index.html").read_text("utf-8")


def test_every_page_of_the_documentation_is_on_the_site() -> None:
    listed = {page for section in SECTIONS.values() for page in section}
    assert {file.name for file in (ROOT / "docs").glob("*.md")} <= listed
    assert {f"tutorials/{script.stem}.md" for script in TUTORIALS} <= listed


def test_every_method_has_a_page_of_the_reference() -> None:
    files = {f"api/methods/{place.split('.')[0]}.md" for place in METHODS.values()}
    assert files <= reference.pages().keys()


@pytest.mark.parametrize(
    ("source", "link", "expected"),
    [
        ("README.md", "[x](docs/METHODS.md)", "[x](METHODS.md)"),
        (
            "README.md",
            "![x](docs/figures/time.png)",
            '<a href="_images/time.png">![x](figures/time.png)</a>',
        ),
        ("docs/METHODS.md", "[x](../CONTRIBUTING.md#style)", "[x](contributing.md#style)"),
        ("docs/METHODS.md", "[x](../src/bison_ocl/methods/gss)", "[x](api/methods/gss.md)"),
        ("docs/BISON.md", "[x](../src/bison_ocl/losses/interaction.py)", "[x](api/losses.md)"),
        ("docs/BISON.md", "[x](../src/bison_ocl/state.py)", "[x](api/State.md)"),
        ("docs/GPU.md", "[x](../results/pilots/readings.jsonl)", "x"),
        ("docs/GPU.md", "[x](https://doi.org/1) [y](#top)", "[x](https://doi.org/1) [y](#top)"),
    ],
)
def test_links_lead_to_pages_of_the_site(source: str, link: str, expected: str) -> None:
    assert relinked(link, source) == expected


def test_a_file_outside_the_site_has_no_place() -> None:
    assert on_site("src/bison_ocl/report/write.py") is None


@pytest.mark.parametrize("script", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_is_a_page_and_a_notebook(script: Path) -> None:
    cells = json.loads(notebook(script))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 3
    shown = page(script)
    assert shown.startswith("# ")
    assert f"[notebook]({script.stem}.ipynb)" in shown
    assert len(re.findall("^```python$", shown, re.MULTILINE)) == len(code)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("`x` and a*b", "``x`` and a\\*b"),
        ("sizes |C|, lambda_ here", "sizes \\|C\\|, lambda\\_ here"),
        ("a `b*c_` d", "a ``b*c_`` d"),
    ],
)
def test_docstrings_in_markdown_become_restructured_text(line: str, expected: str) -> None:
    assert to_restructured_text(line) == expected


def test_the_diagram_has_every_room_and_lines_that_point_down() -> None:
    order = [name for row in rows() for name in row]
    folders = {path.parent.name for path in (ROOT / "src/bison_ocl").glob("*/__init__.py")}
    assert folders <= set(order)
    assert len(order) == len(set(order))
    for name, others in arrows().items():
        assert all(order.index(name) < order.index(other) for other in others)

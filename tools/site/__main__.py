"""Build the site: collect its pages in one folder, then run Sphinx on them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from sphinx.cmd.build import main as sphinx
from tools.site import reference
from tools.site.contents import contents
from tools.site.diagram import diagram
from tools.site.places import PAGES, relinked
from tools.site.reference import ROOT
from tools.site.tutorials import notebook, page

from bison_ocl.report.write import write

RECORDS = ("results/table1", "results/digits")
"""shown on the interactive page"""
REPORT = f"""# Interactive results

<a href="report/report.html">Open the page</a>: tables, figures and runs of {" and ".join(RECORDS)},
as `bison-ocl report` writes it.
"""
MAP = f"""## The map

{diagram()}
A line leads from a room to the rooms it imports; imports that follow from others are left out.
`values` are the single files at the end of the table.
"""


def pages() -> Iterator[tuple[str, str]]:
    """Places on the site and their contents."""
    for file in sorted((ROOT / "docs").glob("*.md")):
        yield file.name, relinked(file.read_text("utf-8"), f"docs/{file.name}")
    for source, place in PAGES.items():
        text = relinked((ROOT / source).read_text("utf-8"), source)
        text = text.replace("## The map\n", MAP, 1) if place == "design.md" else text
        yield place, text + contents() if place == "index.md" else text
    for script in sorted((ROOT / "docs/tutorials").glob("*.py")):
        yield f"tutorials/{script.stem}.md", page(script)
        yield f"tutorials/{script.stem}.ipynb", notebook(script)
    yield from reference.pages().items()
    yield "report.md", REPORT


def collect(folder: Path) -> None:
    """Write the pages, and copy what they show."""
    for name in ("figures", "tutorials"):
        shutil.copytree(ROOT / "docs" / name, folder / name)
    for place, text in pages():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, "utf-8")


def build(folder: Path) -> int:
    """Build folder/site; a status other than 0 if there was a warning."""
    source, trees, extra, site = (
        folder / f"site{end}" for end in ("-source", "-trees", "-extra", "")
    )
    for old in (source, trees, extra, site):
        shutil.rmtree(old, ignore_errors=True)
    collect(source)
    records = [ROOT / name for name in RECORDS]
    write(*records, out=extra / "report", say=lambda line: None, formats=())
    settings = ["-c", str(Path(__file__).parent), "-D", f"html_extra_path={extra}"]
    return sphinx(["-W", "--keep-going", "-q", *settings, "-d", *map(str, (trees, source, site))])


if __name__ == "__main__":
    sys.exit(build(ROOT / "build"))

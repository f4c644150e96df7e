"""Where files of the repository are on the site, and links between them."""

from __future__ import annotations

import posixpath
import re

from tools.site.reference import page_of

PAGES = {
    "README.md": "index.md",
    "DESIGN.md": "design.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""pages from outside docs/"""
IMAGES = "_images"
"""the folder of the images of all pages; those that show some are beside it"""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def on_site(path: str) -> str | None:
    """The place on the site of a file of the repository; None if the site does not have it."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return page_of(path)


def linked_image(shown: str, name: str) -> str:
    """An image that opens in full size: some are too wide for the column. Sphinx moves the file."""
    return f'<a href="{IMAGES}/{name}">{shown}</a>'


def relinked(markdown: str, source: str) -> str:
    """A page of the repository with links as on the site; text instead of links to other files."""
    here = posixpath.dirname(on_site(source) or "") or "."

    def replaced(found: re.Match[str]) -> str:
        image, text, target = found.groups()
        if "://" in target or target.startswith("#"):
            return found.group(0)
        path, hash_, anchor = target.partition("#")
        place = on_site(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        link = place and posixpath.relpath(place, here)
        if not link:
            return text
        shown = f"{image}[{text}]({link}{hash_}{anchor})"
        return linked_image(shown, posixpath.basename(path)) if image else shown

    return LINK.sub(replaced, markdown)

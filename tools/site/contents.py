"""The contents of the site, for the end of its first page."""

from __future__ import annotations

from collections.abc import Iterable

from tools.site.reference import titles

SECTIONS = {
    "Tutorials": (
        *("tutorials/digits_to_figures.md", "tutorials/own_folder.md"),
        "tutorials/write_a_method.md",
    ),
    "Methods": ("METHODS.md", "BISON.md", "BEYOND.md", "STREAMS.md"),
    "Results": ("RESULTS.md", "report.md", "READINGS.md", "DIGITS.md", "benchmarks.md"),
    "Guides": (
        *("LEARNER.md", "REPRODUCE.md", "SWEEPS.md", "REPORT.md", "RECORDS.md", "GPU.md"),
        *("RELIABILITY.md", "security.md", "COMPATIBILITY.md"),
    ),
    "Development": ("design.md", "contributing.md", "changelog.md"),
}


def contents() -> str:
    """All sections."""
    main: list[str] = []
    methods: list[str] = []
    rooms: list[str] = []
    for place in titles():
        named = place.count("/") == 1 and place[len("api/")].isupper()
        (main if named else methods if "/methods/" in place else rooms).append(place)
    reference = {"Main classes": main, "API by room": rooms, "API by method": methods}
    return "".join(toctree(*one) for one in [*SECTIONS.items(), *reference.items()])


def toctree(caption: str, pages: Iterable[str]) -> str:
    """A section of the contents."""
    options = [f":caption: {caption}", ":hidden:", ":maxdepth: 1"]
    return "\n".join(["\n```{toctree}", *options, "", *(f"/{page}" for page in pages), "```\n"])

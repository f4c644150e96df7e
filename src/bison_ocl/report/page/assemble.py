"""The page of a study from its parts: template, style, scripts and data in one file."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment

from bison_ocl.files.durable import write_atomically
from bison_ocl.report.figures.chart import Map
from bison_ocl.report.figures.curves import MOST_BANDS
from bison_ocl.report.page.contents import VIEWS, contents
from bison_ocl.report.page.plotly import figure
from bison_ocl.report.page.tables import numbers_of
from bison_ocl.report.study.study import Study

SCRIPTS = ("choices", "tables", "charts", "start")
"""in this order one script"""


def write(study: Study, path: Path) -> None:
    """Write the page of a study."""
    write_atomically(path, page(study).encode())


def page(study: Study) -> str:
    """The page of a study."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    found = contents(study)
    scripts = [get_plotlyjs(), "\n".join(asset(f"{name}.js") for name in SCRIPTS)]
    data = {"runs": found.details.runs, "shared": found.details.shared, "bands": MOST_BANDS}
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template.policies["json.dumps_kwargs"] = {
        "separators": (",", ":"),
        "allow_nan": False,
        "ensure_ascii": False,
    }
    template.globals |= {"figure": figure, "numbers_of": numbers_of, "cells_of": cells_of}
    return template.from_string(asset("page.html")).render(
        vars(found),
        views=VIEWS,
        data=data,
        css=asset("page.css"),
        policy=policy(scripts),
        plotly=scripts[0],
        script=scripts[1],
    )


def cells_of(shown: Map) -> list[list[tuple[str, float, str]]]:
    """Text, shade from 0 to 1 and frame of each cell of a map."""
    known = [value for row in shown.values for value in row if value == value]
    low, high = min(known) if shown.label else 0, max(known)
    frames = {(one.row, one.column): one.kind for one in shown.frames if one.size == 1}

    def cell(row: int, column: int) -> tuple[str, float, str]:
        value = shown.values[row][column]
        if value != value:  # NaN
            return "", 0, ""
        share = (value - low) / ((high - low) or 1)
        frame = frames.get((row, column), "").replace(" ", "-").replace("'", "-")
        shade = 1 - share if shown.dark_is_high else share
        return f"{value:.{shown.decimals}f}", round(shade, 3), frame

    return [[cell(r, c) for c in range(len(row))] for r, row in enumerate(shown.values)]


def policy(scripts: list[str]) -> str:
    """Only these scripts may run and nothing may be fetched, whatever a record holds."""
    digests = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    sources = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:"
    )


def asset(name: str) -> str:
    return files("bison_ocl.report.page").joinpath(name).read_text("utf-8")

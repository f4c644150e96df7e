"""The page of a study from its parts: frame, style, scripts and data in one file."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from bison_ocl.files.durable import write_atomically
from bison_ocl.report.page.contents import contents
from bison_ocl.report.study.study import Study

SCRIPTS = ("tools", "state", "controls", "table", "chart", "run", "start")
"""in this order one script"""


def write(study: Study, path: Path) -> None:
    """Write the page of a study."""
    write_atomically(path, page(study).encode())


def page(study: Study) -> str:
    """The page of a study."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    found = contents(study)
    own = "\n".join(asset(f"{name}.js") for name in SCRIPTS)
    scripts = {"plotly": get_plotlyjs(), "js": own}
    return Template(asset("page.html")).substitute(
        title=escape(found["title"]),
        css=asset("page.css"),
        data=embedded(found),
        policy=policy(list(scripts.values())),
        **scripts,
    )


def embedded(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def policy(scripts: list[str]) -> str:
    """Only these scripts may run and nothing may be fetched, whatever a record holds."""
    digests = [b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    sources = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:"
    )


def asset(name: str) -> str:
    return files("bison_ocl.report.page").joinpath(name).read_text("utf-8")

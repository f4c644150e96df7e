"""A figure as PNG, SVG and PDF; the same figure gives the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.figure import Figure

from bison_ocl.errors import UserError
from bison_ocl.report.figures.style import common_look

METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": "bison-ocl"},
    "svg": {"Creator": "bison-ocl", "Date": None},
    "pdf": {"Creator": "bison-ocl", "Producer": "bison-ocl", "CreationDate": None},
}
"""By format: no dates, no versions."""

FIXED: dict[str, Any] = {
    "svg.hashsalt": "bison-ocl",
    "svg.fonttype": "path",  # looks the same where the font is missing
    "pdf.fonttype": 42,  # text stays text
    "savefig.facecolor": "white",
}


def save(figure: Figure, path: Path) -> list[Path]:
    """Write path.png, path.svg and path.pdf."""
    paths = [path.with_name(f"{path.name}.{kind}") for kind in METADATA]
    with common_look():
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout is done: not again for every format
    for target, (kind, metadata) in zip(paths, METADATA.items(), strict=True):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with common_look(), style.context(FIXED):
                figure.savefig(target, format=kind, dpi=160, metadata=metadata)
        except OSError as error:
            raise UserError(f"cannot write {target}: {error.strerror or error}") from error
    return paths

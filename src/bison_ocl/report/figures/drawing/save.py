"""A figure as PNG, SVG and PDF; the same figure gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from bison_ocl.errors import UserError, reason
from bison_ocl.report.figures.drawing.style import common_look

DOTS = 160
"""per inch"""
NAME = "bison-ocl"
FIXED: dict[str, Any] = {
    "svg.hashsalt": NAME,
    "svg.fonttype": "path",  # looks the same where the font is missing
    "pdf.fonttype": 42,  # text stays text
}
KINDS: dict[str, Callable[[Any, Path], None]] = {
    "png": lambda figure, path: canvas(FigureCanvasAgg, figure).print_png(
        path, metadata={"Software": NAME}
    ),
    "svg": lambda figure, path: canvas(FigureCanvasSVG, figure).print_svg(
        path, metadata={"Creator": NAME, "Date": None}
    ),
    "pdf": lambda figure, path: canvas(FigureCanvasPdf, figure).print_pdf(
        path, metadata={"Creator": NAME, "Producer": NAME, "CreationDate": None}
    ),
}
"""By the canvases themselves: `savefig` draws every format twice. No dates, no versions."""


def canvas(kind: Any, figure: Figure) -> Any:
    """The Matplotlib canvas of a format; its methods have no types."""
    return kind(figure)


def save(figure: Figure, path: Path, formats: Collection[str] = KINDS) -> list[Path]:
    """Write path.png and the other formats."""
    paths = {kind: path.with_name(f"{path.name}.{kind}") for kind in KINDS if kind in formats}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with common_look(), style.context(FIXED):
            figure.set_dpi(DOTS)
            for kind, file in paths.items():
                KINDS[kind](figure, file)
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}") from error
    return list(paths.values())

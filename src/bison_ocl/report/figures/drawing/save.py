"""A figure as PNG, SVG and PDF; the same figure gives the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from bison_ocl.errors import UserError, reason
from bison_ocl.report.figures.drawing.grid import lay_out
from bison_ocl.report.figures.drawing.style import common_look

KINDS = ("png", "svg", "pdf")
DOTS = 160
"""per inch"""
NAME = "bison-ocl"
FIXED: dict[str, Any] = {
    "svg.hashsalt": NAME,
    "svg.fonttype": "path",  # looks the same where the font is missing
    "pdf.fonttype": 42,  # text stays text
}


def save(figure: Figure, path: Path) -> list[Path]:
    """Write path.png, path.svg and path.pdf."""
    paths = [path.with_name(f"{path.name}.{kind}") for kind in KINDS]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with common_look(), style.context(FIXED):
            lay_out(figure)
            write(figure, *paths)
    except OSError as error:
        raise UserError(f"cannot write {path}: {reason(error)}") from error
    return paths


def write(figure: Figure, png: Path, svg: Path, pdf: Path) -> None:
    """By the canvases themselves: `savefig` draws every format twice. No dates, no versions."""
    figure.set_dpi(DOTS)
    raster: Any = FigureCanvasAgg(figure)  # what canvases print with has no types
    raster.print_png(png, metadata={"Software": NAME})
    drawing: Any = FigureCanvasSVG(figure)
    drawing.print_svg(svg, metadata={"Creator": NAME, "Date": None})
    sheet: Any = FigureCanvasPdf(figure)
    sheet.print_pdf(pdf, metadata={"Creator": NAME, "Producer": NAME, "CreationDate": None})

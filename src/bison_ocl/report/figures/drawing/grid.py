"""An empty figure with room for several panels, a legend for all of them and a note below."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D

from bison_ocl.look import GREY
from bison_ocl.report.figures.drawing.panels import Line
from bison_ocl.report.figures.drawing.style import plotted

MOST_COLUMNS = 3
FEW = 5
"""entries of a legend that fit above one panel"""
PER_INCH = 15
"""characters of a note"""
DEVIATION = "Bands: one standard deviation over runs."
THIN = "Thin lines: one standard deviation over runs."
AF_CONVENTION = "AF as in the paper's tables: mean over all tasks, best at any time."


def grid(
    panels: int, width: float = 4.6, height: float = 3.7, columns: int = MOST_COLUMNS
) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, filled row by row; sizes in inches, of one panel."""
    columns = 2 if panels == 4 else min(panels, columns)
    rows = -(-panels // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    made: list[Axes] = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    for spare in made[panels:]:
        spare.set_axis_off()
    return figure, made[:panels]


def legend(figure: Figure, lines: Iterable[Line]) -> None:
    """Each look once; above the panels, or beside a single one that has many."""
    looks = {line.title: line.look for line in lines}
    handles = [Line2D([], [], label=title, **plotted(look)) for title, look in looks.items()]
    entry = 0.55 + 0.08 * max(len(title) for title in looks)
    if len(figure.axes) == 1 and len(handles) > FEW:
        figure.set_figwidth(figure.get_figwidth() + entry)
        figure.legend(handles=handles, loc="outside right upper")
    else:
        columns = max(1, int(figure.get_figwidth() / entry))
        figure.legend(handles=handles, loc="outside upper center", ncols=columns)


def note(figure: Figure, *sentences: str) -> None:
    """What a reader must know, in small print below all panels."""
    width = int(PER_INCH * figure.get_figwidth())
    text = fill(" ".join(filter(None, sentences)), width)
    figure.supxlabel(text, fontsize=8, color=GREY)


def lay_out(figure: Figure) -> None:
    """Find the places of all panels, once: saving, in whatever format, does not move them."""
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.execute(figure)
        figure.set_layout_engine("none")

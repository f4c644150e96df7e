"""The common look of all figures: fonts and axes, and looks as arguments of Matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import style
from matplotlib.markers import MarkerStyle

from bison_ocl.look import Look

DARK = "#444444"
SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "text.parse_math": False,  # a folder's name may hold $
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": DARK,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "errorbar.capsize": 2.5,
    "figure.constrained_layout.use": True,
}


@contextmanager
def common_look() -> Iterator[None]:
    """Figures made inside it look alike, whatever the user's own settings are."""
    with style.context(SETTINGS, after_reset=True):
        yield


def plotted(look: Look) -> dict[str, Any]:
    """A look as the arguments of Matplotlib's `plot`."""
    return {
        "color": look.colour,
        "marker": MarkerStyle(look.marker) if look.marker else "",
        "linestyle": look.dashes,
        "linewidth": look.width,
        "markersize": 6 if look.width > 2 else 5,
        "markerfacecolor": "white" if look.hollow else look.colour,
        "markeredgecolor": look.colour,
    }

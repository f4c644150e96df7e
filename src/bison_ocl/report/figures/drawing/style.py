"""The common look: each method's own colour, marker and line, and fonts that can be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.image import AxesImage
from matplotlib.markers import MarkerStyle

from bison_ocl.look import GREY, PALETTE, Look, Marker
from bison_ocl.methods import METHODS, method_class

MARKERS: tuple[Marker, ...] = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "p", "h", "d")


def plotted(look: Look) -> dict[str, Any]:
    """What `plot` takes."""
    return {
        "color": look.colour,
        "marker": MarkerStyle(look.marker),
        "linestyle": look.dashes,
        "linewidth": look.width,
        "markersize": 6 if look.width > 2 else 5,
        "markerfacecolor": "white" if look.hollow else look.colour,
        "markeredgecolor": look.colour,
    }


def look(method: str) -> Look:
    """Of a method, or of a method under another rule, such as `er + ncm`."""
    name, _, rule = method.partition(" + ")
    found = method_class(name).look if name in METHODS else Look(GREY, "o")
    return replace(found, hollow=True, dashes=":") if rule else found


def numbered(place: int) -> Look:
    """For variants of one method, by their place in a list."""
    colour, marker = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
    return Look(colour, marker, "-" if place < len(PALETTE) else "--")


def ink(image: AxesImage, value: float) -> str:
    """Black or white, whichever can be read on a cell of that value."""
    red, green, blue, _ = image.to_rgba(np.array([value]))[0]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


CENTRED: dict[str, Any] = {"horizontalalignment": "center", "verticalalignment": "center"}
FONT: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "text.parse_math": False,  # a folder's name may hold $
}
LINES: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "errorbar.capsize": 2.5,
    "figure.constrained_layout.use": True,
}


@contextmanager
def common_look() -> Iterator[None]:
    """Figures made inside it look alike, whatever the user's own settings are."""
    with style.context(FONT | LINES, after_reset=True):
        yield

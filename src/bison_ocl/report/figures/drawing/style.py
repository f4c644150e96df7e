"""The common look: a fixed colour, marker and line for each method, fonts that can be read.

Eight colours that colour-blind readers tell apart (Okabe & Ito 2008, yellow darkened), each used
solid and dashed; no two methods share a marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.image import AxesImage
from matplotlib.markers import MarkerStyle

VERMILION, BLUE, GREEN, ORANGE = "#D55E00", "#0072B2", "#009E73", "#E69F00"
PURPLE, SKY, OLIVE, BLACK = "#CC79A7", "#56B4E9", "#8C8B1F", "#222222"
PALETTE = (VERMILION, BLUE, GREEN, ORANGE, PURPLE, SKY, OLIVE, BLACK)
GREY = "#777777"

Marker = str | tuple[int, int, int]
MARKERS: tuple[Marker, ...] = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "p", "h", "d")


@dataclass(frozen=True)
class Look:
    """How a line or a point is drawn."""

    colour: str
    marker: Marker
    dashes: str = "-"
    width: float = 1.4
    hollow: bool = False
    """for the same network under another inference rule"""

    def line(self) -> dict[str, Any]:
        """What `plot` takes."""
        return {
            "color": self.colour,
            "marker": MarkerStyle(self.marker),
            "linestyle": self.dashes,
            "linewidth": self.width,
            "markersize": 6 if self.width > 2 else 5,
            "markerfacecolor": "white" if self.hollow else self.colour,
            "markeredgecolor": self.colour,
        }


LOOKS = {
    "bison": Look(VERMILION, (5, 1, 0), width=2.4),
    "finetune": Look(GREY, "X", ":"),
    "er": Look(BLACK, "o"),
    "gss": Look(ORANGE, "v"),
    "mir": Look(SKY, "<"),
    "agem": Look(PURPLE, ">"),
    "gdumb": Look(OLIVE, "P"),
    "scr": Look(GREEN, "d"),
    "aser": Look(OLIVE, "h", "--"),
    "ssil": Look(ORANGE, "D", "--"),
    "er-dvc": Look(BLACK, (6, 1, 0), "--"),
    "er-ace": Look(SKY, "p", "--"),
    "ocm": Look(GREEN, (3, 1, 0), "--"),
    "pcr": Look(BLUE, "^"),
    "lode": Look(PURPLE, "s", "--"),
    "onpro": Look(BLUE, (4, 1, 0), "--"),
}
"""Of the paper's methods; others are grey until they get a line here."""


def look(method: str) -> Look:
    """Of a method, or of a method under another rule, such as `er + ncm`."""
    name, _, rule = method.partition(" + ")
    found = LOOKS.get(name, Look(GREY, "o"))
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

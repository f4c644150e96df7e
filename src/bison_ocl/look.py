"""Appearance of a method in figures: colour, marker and line.

Eight colours that colour-blind readers tell apart (Okabe & Ito 2008, yellow darkened), each used
solid and dashed, one dash-dotted; no two methods of this package share a marker.
"""

from __future__ import annotations

from dataclasses import dataclass

VERMILION, BLUE, GREEN, ORANGE = "#D55E00", "#0072B2", "#009E73", "#E69F00"
PURPLE, SKY, OLIVE, BLACK = "#CC79A7", "#56B4E9", "#8C8B1F", "#222222"
PALETTE = (VERMILION, BLUE, GREEN, ORANGE, PURPLE, SKY, OLIVE, BLACK)
GREY = "#777777"

Marker = str | tuple[int, int, int]
"""as Matplotlib names them: a sign, or a star of (points, 1, angle)"""


@dataclass(frozen=True)
class Look:
    """The appearance of a line or a point."""

    colour: str
    marker: Marker
    dashes: str = "-"
    width: float = 1.4
    hollow: bool = False
    """for the same network under another inference rule"""

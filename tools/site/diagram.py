"""The map of the package as a diagram: its rooms, and which imports which."""

from __future__ import annotations

from functools import cache
from html import escape
from statistics import mean

import grimp

VALUES = ("rng", "tree", "batch", "threads", "waiting", "card", "bounds", "look", "errors")
"""small files that every room may import, drawn as one box"""
WIDTH, HEIGHT, BOX, GAP = 720, 34, 132, 30
Imports = dict[str, set[str]]


@cache
def imports() -> Imports:
    """The rooms that each room imports."""
    graph = grimp.build_graph("bison_ocl")
    found: Imports = {}
    for module in graph.modules - {"bison_ocl"}:
        targets = graph.find_modules_directly_imported_by(module) - {"bison_ocl"}
        found.setdefault(room(module), set()).update(map(room, targets))
    return {name: others - {name} for name, others in found.items()}


def room(module: str) -> str:
    name = module.split(".")[1]
    return "values" if name in VALUES else name


@cache
def below(name: str) -> frozenset[str]:
    """All rooms that a room imports, directly or not."""
    return frozenset().union(*({one} | below(one) for one in imports()[name]))


def arrows() -> Imports:
    """Imports without those that follow from others."""
    return {
        name: others - frozenset().union(*map(below, others)) for name, others in imports().items()
    }


def rows() -> list[list[str]]:
    """The rooms by distance from the top, each row ordered like the rooms above it."""
    level = {name: 0 for name in imports()}
    for name in sorted(level, key=lambda one: len(below(one)), reverse=True):
        for other in imports()[name]:
            level[other] = max(level[other], level[name] + 1)
    found: list[list[str]] = []
    place: dict[str, float] = {}
    for number in range(max(level.values()) + 1):
        row = [name for name in level if level[name] == number]
        above = {name: [place[one] for one in place if name in arrows()[one]] for name in row}
        row.sort(key=lambda name: (mean(above[name] or [0.0]), name))
        place |= {name: centre(at, len(row)) for at, name in enumerate(row)}
        found.append(row)
    return found


def centre(at: int, count: int) -> float:
    """The middle of a box in a row of `count`."""
    return WIDTH * (at + 0.5) / count


def diagram() -> str:
    """An SVG image in the colours of the page, as HTML inside Markdown."""
    places = {
        name: (centre(at, len(row)), number * (HEIGHT + GAP))
        for number, row in enumerate(rows())
        for at, name in enumerate(row)
    }
    lines = "".join(
        arrow(places[name], places[other]) for name in places for other in sorted(arrows()[name])
    )
    boxes = "".join(box(name, *place) for name, place in places.items())
    height = max(top for _, top in places.values()) + HEIGHT
    return (
        f'<div class="diagram"><svg viewBox="0 -1 {WIDTH} {height + 2}" '
        'role="img" font-family="monospace" '
        f'font-size="14" stroke-width="1.2" aria-label="Rooms of the package and their imports">'
        f"{lines}{boxes}</svg></div>\n"
    )


def arrow(start: tuple[float, int], end: tuple[float, int]) -> str:
    """A line from the bottom of one box to the top of another."""
    (x, top), (to_x, to_top) = start, end
    return (
        f'<line x1="{x:.0f}" y1="{top + HEIGHT}" x2="{to_x:.0f}" y2="{to_top}" '
        'stroke="var(--color-foreground-muted)"/>'
    )


def box(name: str, middle: float, top: int) -> str:
    """A box with its name inside."""
    return (
        f'<rect x="{middle - BOX / 2:.0f}" y="{top}" width="{BOX}" height="{HEIGHT}" rx="4" '
        'fill="var(--color-background-secondary)" stroke="currentColor"/>'
        f'<text x="{middle:.0f}" y="{top + HEIGHT / 2 + 5:.0f}" text-anchor="middle" '
        f'fill="currentColor">{escape(name)}</text>'
    )

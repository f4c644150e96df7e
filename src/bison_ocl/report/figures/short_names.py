"""Long names cut to what has room, so that no two of a figure become the same.

Variants of a method often differ in one of many settings: those that all of them share go first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bison_ocl.report.figures.chart import Axis, Chart, Series

NAME = 30
"""characters that have room, if names so short differ"""
MORE = 15
"""characters that names get where they do not; fewer would hide what differs within a setting"""
VARIANT = re.compile(r"(?P<name>.*) \((?P<settings>\w+=.*)\)(?P<rest>.*)")


def with_short_names(charts: Sequence[Chart]) -> list[Chart]:
    """The charts of a figure with short names of lines, points, rows and columns."""
    short = short_names(name for chart in charts for name in names_in(chart))

    def named(one: Series) -> Series:
        return replace(one, name=short[one.name], text=short.get(one.text, one.text))

    def labelled(axis: Axis) -> Axis:
        return replace(axis, names=[short[name] for name in axis.names])

    return [
        replace(one, x=labelled(one.x), y=labelled(one.y), series=[*map(named, one.series)])
        for one in charts
    ]


def names_in(chart: Chart) -> list[str]:
    """All names in a chart; the text of a bar is none."""
    points = [one.text for one in chart.series if one.kind == "points" and one.text]
    return [*chart.x.names, *chart.y.names, *(one.name for one in chart.series), *points]


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Each name with its short form; all forms differ."""
    full = list(dict.fromkeys(names))
    fewer = without_shared(full)
    for longest in range(NAME, max(map(len, full), default=0), MORE):
        short = [shortened(one, longest) for one in fewer]
        if len(set(short)) == len(full):
            return dict(zip(full, short, strict=True))
    return dict(zip(full, full, strict=True))


def without_shared(names: Sequence[str]) -> list[str]:
    """`ER (…, lr=0.1)`: long names without the settings that all long variants of them share."""
    found = {name: VARIANT.fullmatch(name) for name in names if len(name) > NAME}
    variants: dict[str, list[list[str]]] = {}
    for match in filter(None, found.values()):
        variants.setdefault(match["name"], []).append(settings_of(match))

    def fewer(name: str) -> str:
        match = found.get(name)
        alike = variants[match["name"]] if match else []
        if match is None or len(alike) < 2:
            return name
        own = [one for one in settings_of(match) if not all(one in other for other in alike)]
        left_out = ["…"] * (len(own) < len(settings_of(match)))
        return f"{match['name']} ({', '.join([*left_out, *own])}){match['rest']}"

    return [fewer(name) for name in names]


def settings_of(variant: re.Match[str]) -> list[str]:
    """`lr=0.1` and the others; a value may hold a comma."""
    return re.split(r", (?=\w+=)", variant["settings"])


def shortened(text: str, longest: int = NAME) -> str:
    """A long text with most of its start, which names it, and its end, which tells it apart."""
    end = longest // 3
    return text if len(text) <= longest else f"{text[: longest - end - 1]}…{text[-end:]}"

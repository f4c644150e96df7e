"""Looks of methods: their own, and colours that tell apart those that are reported together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from zlib import crc32

from bison_ocl.experiments.records.spec import own_name, rule_of
from bison_ocl.look import PALETTE, Look, Marker
from bison_ocl.methods import METHODS
from bison_ocl.methods.declared import facts
from bison_ocl.report.study.entry import Entry

MARKERS: tuple[Marker, ...] = ("o", "s", "^", "v", "D", "P", "X", "<", ">", "p", "h", "d")
DASHES = (":", "-.", "--", "-")
"""dashes of networks by other rules, one after the other"""
MAIN_COLOUR, *OTHERS = PALETTE
"""colours of methods from outside: BISON's only where all others are taken"""


def looks_of(items: Iterable[Sequence[Entry]]) -> dict[str, Look]:
    """The looks of the methods of a study, from the entries of each of its items.

    Methods of the package have their own. One from outside has its own colour, or another where a
    method of the same item has that: one that no method of its items has, else the rarest there.
    Several other rules of inference have a marker and dashes each, whatever the method.
    """
    items = list(items)
    rules = list(dict.fromkeys(rule_of(one.method) for entries in items for one in entries))
    methods = [{entry.method for entry in entries} for entries in items]
    shown = [set(map(own_name, found)) for found in methods]
    chosen: dict[str, Look] = {}
    for name in sorted(set().union(*shown), key=lambda name: (name not in METHODS, name)):
        look = look_of(name)
        if name not in METHODS:
            beside = [found & chosen.keys() for found in shown if name in found]
            taken = [[chosen[other].colour for other in found] for found in beside]
            look = replace(look, colour=rarest([look.colour, *OTHERS, MAIN_COLOUR], taken))
        chosen[name] = look
    every = set().union(*methods)
    return {method: read_by_rule(method, chosen[own_name(method)], rules) for method in every}


def rarest(colours: Sequence[str], taken: Sequence[Sequence[str]]) -> str:
    """The first of the colours that are taken in the fewest items, there by the fewest methods."""

    def rarity(colour: str) -> tuple[int, int]:
        return sum(colour in here for here in taken), sum(here.count(colour) for here in taken)

    return min(colours, key=rarity)


def look_of(method: str) -> Look:
    """The own look of a method, or of a method under another rule, such as `er + ncm`."""
    name = own_name(method)
    kind = facts(name)
    return read_by_rule(method, kind.look if kind else by_name(name))


def read_by_rule(method: str, look: Look, rules: Sequence[str] = ()) -> Look:
    """The look of a method, made hollow for `er + ncm`: the same network under another rule.

    rules: all rules that are shown; one other rule alone keeps the marker of the method.
    """
    if not (rule := rule_of(method)):
        return look
    others = [other for other in rules if other] or [rule]
    place = others.index(rule)
    marker = MARKERS[place % len(MARKERS)] if len(others) > 1 else look.marker
    return replace(look, marker=marker, hollow=True, dashes=DASHES[place % len(DASHES)])


def by_name(method: str) -> Look:
    """The look of a method whose file the user did not name."""
    place, colour = divmod(crc32(method.encode()), len(OTHERS))
    return Look(OTHERS[colour], MARKERS[place % len(MARKERS)], "-.")


def numbered(place: int) -> Look:
    """The look of a variant, by its place in a list."""
    colour, marker = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
    return Look(colour, marker, "-" if place < len(PALETTE) else "--")

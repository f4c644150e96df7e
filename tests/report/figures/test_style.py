"""The look: every method its own, told apart by readers who see fewer colours."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.colors import to_rgb

from bison_ocl.card import Card
from bison_ocl.look import BLUE, PALETTE, VERMILION, Look
from bison_ocl.methods import METHODS
from bison_ocl.report.figures.drawing.style import common_look, plotted
from bison_ocl.report.study import looks
from bison_ocl.report.study.looks import look_of, looks_of, numbered
from tests.report.figures.charted import of


def test_no_two_methods_share_a_marker_or_a_line() -> None:
    looks = [look_of(name) for name in METHODS]
    assert len({one.marker for one in looks}) == len(METHODS)
    assert len({(one.colour, one.dashes) for one in looks}) == len(METHODS)


def test_another_rule_keeps_the_colour_but_is_hollow() -> None:
    assert look_of("er + ncm").colour == look_of("er").colour
    assert plotted(look_of("er + ncm"))["markerfacecolor"] == "white"
    assert plotted(look_of("er"))["markerfacecolor"] == look_of("er").colour


def test_several_other_rules_have_a_marker_each_whatever_the_method() -> None:
    (run, *_) = of("demo")
    rules = ["averaged", "averaged+ld-mirror", "ld"]
    found = looks_of(
        [[replace(run, method=f"{m} + {r}", rule=r) for m in ("er", "bison") for r in rules]]
    )
    of_er, of_bison = ([found[f"{m} + {r}"].marker for r in rules] for m in ("er", "bison"))
    assert of_er == of_bison
    assert len(set(of_er)) == len(rules)
    assert {look.hollow for look in found.values()} == {True}


def test_methods_from_outside_look_different() -> None:
    mine, other = look_of("mine"), look_of("other")
    assert mine.colour != other.colour
    assert mine.marker != other.marker
    assert mine == look_of("mine")


def drawn(*items: Collection[str]) -> dict[str, Look]:
    """The looks of methods in a study of some items."""
    (any_run, *_) = of("demo")
    return looks_of([[replace(any_run, method=name) for name in names] for names in items])


def colours(found: dict[str, Look]) -> list[str]:
    return [look.colour for look in found.values()]


OUTSIDE = [f"method {number}" for number in range(20)]


def test_methods_of_the_package_keep_their_looks_whatever_is_beside_them() -> None:
    found = drawn([*METHODS, *OUTSIDE])
    assert {name: found[name] for name in METHODS} == {name: look_of(name) for name in METHODS}


@pytest.mark.parametrize(
    "beside", [[], ["bison"], ["bison", "er", "pcr"], ["finetune", "er + ncm"]]
)
def test_methods_shown_together_have_colours_of_their_own(beside: list[str]) -> None:
    free = len(set(PALETTE) - set(colours(drawn(beside))))
    for first in range(12):
        outside = OUTSIDE[first : first + free]
        found = drawn([*beside, *outside])
        assert len(set(colours(found))) == len(found)
        assert found == drawn([*reversed(outside), *beside])


def test_a_colour_that_nobody_beside_has_is_kept() -> None:
    assert drawn(["bison", "mine"])["mine"] == look_of("mine")
    assert drawn(["mine + ncm"]) == {"mine + ncm": look_of("mine + ncm")}


def test_a_network_looks_different_under_each_rule() -> None:
    rules = ["ncm", "averaged", "averaged+ld", "averaged+ncm"]
    found = drawn(["er", *(f"er + {rule}" for rule in rules)], ["bison", "bison + ncm"])
    assert len({found["er"], *(found[f"er + {rule}"] for rule in rules)}) == 5
    assert found["er"] == look_of("er")
    ours, theirs = found["bison + ncm"], found["er + ncm"]
    assert (ours.marker, ours.dashes) == (theirs.marker, theirs.dashes)


def test_two_methods_that_declare_one_colour_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = {name: type(name, (Card,), {"look": Look(BLUE, "*")}) for name in ("mine", "other")}
    monkeypatch.setattr(looks, "facts", kinds.get)
    found = drawn(["mine", "other"])
    assert found["mine"] == Look(BLUE, "*")
    assert found["other"].colour not in (BLUE, VERMILION)


def test_with_all_colours_taken_those_from_outside_still_differ_from_each_other() -> None:
    found = drawn([*METHODS, *OUTSIDE[:4]])
    assert len({found[name].colour for name in OUTSIDE[:4]}) == 4


def test_a_method_has_one_look_in_all_items_and_fits_in_where_it_can() -> None:
    for name in OUTSIDE:
        found = drawn([*METHODS, name], ["er", name], ["scr", "pcr", name])
        beside = [found[other].colour for other in ("er", "scr", "pcr")]
        assert found[name].colour not in beside


def test_sixteen_variants_are_told_apart() -> None:
    looks = [numbered(place) for place in range(16)]
    assert len({(one.colour, one.dashes) for one in looks}) == 16


# Machado, Oliveira & Fernandes 2009: what remains of a colour, in linear RGB.
SEEN = {
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}


@pytest.mark.parametrize("kind", SEEN)
def test_the_palette_survives_colour_blindness(kind: str) -> None:
    seen = {colour: lab(np.array(SEEN[kind]) @ linear(to_rgb(colour))) for colour in PALETTE}
    distances = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in pairs()}
    assert min(distances.values()) > 10, min(distances.items(), key=lambda item: item[1])


def pairs() -> list[tuple[str, str]]:
    return list(combinations(PALETTE, 2))


def linear(rgb: tuple[float, float, float]) -> np.ndarray:
    channels = np.array(rgb)
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear RGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ rgb.clip(0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_users_own_settings_are_left_alone_and_do_not_leak_in() -> None:
    before = rcParams["font.size"]
    rcParams["font.size"] = 30
    try:
        with common_look():
            assert rcParams["font.size"] < 12
        assert rcParams["font.size"] == 30
    finally:
        rcParams["font.size"] = before

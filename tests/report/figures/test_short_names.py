"""Short names of lines and rows: what sets variants apart is not cut off."""

from __future__ import annotations

from dataclasses import replace

from bison_ocl.look import BLUE, Look
from bison_ocl.report.figures.chart import Axis, Chart, Series
from bison_ocl.report.figures.drawing.figure import figure
from bison_ocl.report.figures.short_names import NAME, short_names
from bison_ocl.report.page import plotly

SWEEP = [
    f"BISON (stream_batch=20, filters=1, ncm_normalise={way}, beta={beta}, pal={pal})"
    for way in ("true", "false")
    for beta in (0.05, 0.1)
    for pal in ("bs", "off")
]


def test_names_that_fit_stay_as_they_are() -> None:
    names = ["ER", "ER + NCM", "OCM (old_logits=position)", ""]
    assert short_names(names) == {name: name for name in names}


def test_settings_that_all_variants_share_go_first() -> None:
    rates = [f"ER (lr={lr}, stream_batch=20, filters=1)" for lr in (0.01, 0.1)]
    assert [*short_names([*rates, "BISON"]).values()] == [
        "ER (…, lr=0.01)",
        "ER (…, lr=0.1)",
        "BISON",
    ]
    sizes = [f"BISON (beta=0.5, lambda=1, gamma=16), M = {size}k" for size in (1, 2)]
    assert [*short_names(sizes).values()] == ["BISON (…), M = 1k", "BISON (…), M = 2k"]


def test_a_variant_alone_keeps_its_start_and_its_end() -> None:
    (short,) = short_names(["ER (stream_batch=20, filters=1, lr=0.1)"]).values()
    assert len(short) == NAME
    assert short.startswith("ER (stream_batch=20")
    assert short.endswith("lr=0.1)")


def test_no_two_names_become_the_same() -> None:
    nested = [f"A + averaged NCM{mirror} (buffer_batch=64)" for mirror in ("", " (mirror)")]
    for names in (SWEEP, nested, ["x" * 50 + "y" + "x" * 50, "x" * 101]):
        assert len(set(short_names(names).values())) == len(names)
    assert all("ncm_normalise=true" in s for n, s in short_names(SWEEP).items() if "=true" in n)


def test_rows_and_legends_of_a_figure_and_of_the_page_tell_variants_apart() -> None:
    rows = Axis(names=SWEEP)
    bars = [Series(n, Look(BLUE, "o"), [1.0], [at], "bar") for at, n in enumerate(SWEEP)]
    lines = [replace(one, kind="curve", x=[1, 2], y=[1.0, 2.0]) for one in bars]
    made = figure([Chart("T", Axis(), rows, bars), Chart("T", Axis(), Axis(), lines)])
    labels = {text.get_text() for text in made.axes[0].get_yticklabels()}
    (legend,) = made.legends
    names = {text.get_text() for text in legend.get_texts()}
    drawn = plotly.figure(Chart("T", Axis(), rows, bars))["data"]
    assert len(labels) == len(names) == len({one["y"][0] for one in drawn}) == len(SWEEP)
    assert max(map(len, names)) < 50
    assert all(text.count("\n") == 1 for text in labels)

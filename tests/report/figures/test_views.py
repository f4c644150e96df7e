"""Every item comes out in figures; what cannot be drawn is said and stops nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.report.figures import VIEWS, save_all
from bison_ocl.report.figures.drawing.figure import figure
from bison_ocl.report.figures.views import charted
from bison_ocl.report.study.study import Study
from tests.report.figures.charted import of


def test_every_item_has_views() -> None:
    assert set(VIEWS) == set(ITEMS)


@pytest.mark.parametrize("item", [item for item in ITEMS if item != "table1"])
def test_every_view_of_an_item_can_be_charted(item: str) -> None:
    found = dict(charted(item, of(item)))
    assert not {name: made for name, made in found.items() if isinstance(made, str)}
    assert len(found) == len(VIEWS[item])
    assert all(figure(made).axes for made in found.values())
    assert all(name == item or name.startswith(f"{item}-") for name in found)


def test_the_main_table_with_one_seed() -> None:
    found = dict(charted("table1", of("table1", 1)))
    assert {name: len(made) for name, made in found.items()} == {
        "table1-interplay": 9,
        "table1-curves": 9,
        "table1-beside-paper": 3,
        "table1-alpha-eta": 6,
    }


def test_rules_that_ride_along_are_left_to_the_ncm_table() -> None:
    (interplay,) = [made for _, made in charted("balance", of("balance"))]
    assert not isinstance(interplay, str)
    assert "+ NCM" not in " ".join(one.text for chart in interplay for one in chart.series)


def test_files_and_reasons(tmp_path: Path) -> None:
    alone = [replace(r, metrics=replace(r.metrics, AI=None)) for r in of("demo")]
    study = Study({"mine": alone}, [])
    saved = save_all(study, tmp_path / "figures")["mine"]
    names = sorted(path.name for path in saved.files)
    stems = ("alpha-eta", "confusion", "curves", "losses", "time")
    assert names == sorted(
        f"mine-{stem}.{kind}" for stem in stems for kind in ("pdf", "png", "svg")
    )
    assert all(path.stat().st_size > 1000 for path in saved.files)
    (picture, *_) = save_all(study, tmp_path / "pictures", ["png"])["mine"].files
    assert [path.suffix for path in picture.parent.iterdir()] == [".png"] * len(stems)
    (reason,) = saved.missing
    assert reason.startswith("no figure mine-interplay: ")
    assert "FINE-TUNE" in reason


@pytest.mark.parametrize("item", ITEMS)
def test_any_records_in_any_item_are_drawn_or_refused_with_a_reason(item: str) -> None:
    for name, made in charted(item, of("demo")):
        assert name
        assert made


def test_records_that_hold_only_what_a_report_needs() -> None:
    nothing = {"losses": None, "confusion": None, "parameters": None}
    bare = [replace(r, log=[{}] * len(r.accuracy), **nothing) for r in of("demo")]
    found = dict(charted("mine", bare))
    shown = {name for name, made in found.items() if not isinstance(made, str)}
    assert shown == {"mine-curves", "mine-interplay", "mine-time"}

"""Every item comes out in figures; what cannot be drawn is said and stops nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bison_ocl.experiments.plan.paper import ITEMS
from bison_ocl.report.figures import VIEWS, save_all
from bison_ocl.report.figures.views import drawn
from bison_ocl.report.study.study import Study
from tests.report.figures.drawn import of


def test_every_item_has_views() -> None:
    assert set(VIEWS) == set(ITEMS)


@pytest.mark.parametrize("item", [item for item in ITEMS if item != "table1"])
def test_every_view_of_an_item_can_be_drawn(item: str) -> None:
    found = dict(drawn(item, of(item)))
    assert not {name: made for name, made in found.items() if isinstance(made, str)}
    assert all(name == item or name.startswith(f"{item}-") for name in found)


def test_the_main_table_with_one_seed() -> None:
    found = dict(drawn("table1", of("table1", 1)))
    panels = {name: len([a for a in made.axes if a.get_title()]) for name, made in found.items()}
    assert panels == {
        "table1-interplay": 9,
        "table1-curves": 9,
        "table1-beside-paper": 3,
        "table1-alpha-eta": 6,
    }


def test_rules_that_ride_along_are_left_to_the_ncm_table() -> None:
    (interplay,) = [made for _, made in drawn("balance", of("balance"))]
    assert "+ NCM" not in " ".join(
        text.get_text() for axes in interplay.axes for text in axes.texts
    )


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
    (reason,) = saved.missing
    assert reason.startswith("no figure mine-interplay: ")
    assert "FINE-TUNE" in reason


@pytest.mark.parametrize("item", ITEMS)
def test_any_records_in_any_item_are_drawn_or_refused_with_a_reason(item: str) -> None:
    for name, made in drawn(item, of("demo")):
        assert name
        assert made


def test_records_that_hold_only_what_a_report_needs() -> None:
    nothing = {"losses": None, "confusion": None, "parameters": None}
    bare = [replace(r, log=[{}] * len(r.accuracy), **nothing) for r in of("demo")]
    found = dict(drawn("mine", bare))
    shown = {name for name, made in found.items() if not isinstance(made, str)}
    assert shown == {"mine-curves", "mine-interplay", "mine-time"}

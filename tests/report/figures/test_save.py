"""Files: three formats, the same bytes for the same records, one line if they cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from matplotlib import rcParams
from matplotlib.figure import Figure
from PIL import Image

from bison_ocl.errors import UserError
from bison_ocl.report.figures.curves import curves
from bison_ocl.report.figures.drawing.figure import figure
from bison_ocl.report.figures.drawing.save import save
from bison_ocl.report.figures.interplay import interplay
from bison_ocl.report.figures.views import Charts
from bison_ocl.report.study.entry import Entry
from tests.report.figures.charted import charts, records


def drawn(view: Charts, item: str, found: Sequence[Entry]) -> Figure:
    return figure(charts(view, item, found))


def test_three_formats(tmp_path: Path) -> None:
    png, svg, pdf = save(drawn(curves, "demo", records("demo")), tmp_path / "new" / "a.b")
    assert [path.name for path in (png, svg, pdf)] == ["a.b.png", "a.b.svg", "a.b.pdf"]
    with Image.open(png) as image:
        assert image.format == "PNG"
        assert min(image.size) > 400
        colours = image.convert("RGB").getcolors(maxcolors=1 << 24)
    assert colours is not None
    assert len(colours) > 100
    assert svg.read_text().startswith("<?xml")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    found = [
        [
            path.read_bytes()
            for path in save(drawn(interplay, "demo", records("demo")), tmp_path / name)
        ]
        for name in ("one", "other")
    ]
    assert found[0] == found[1]


def test_the_users_settings_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (before, *_) = save(drawn(curves, "demo", records("demo")), tmp_path / "before")
    monkeypatch.setitem(rcParams, "font.size", 20.0)
    monkeypatch.setitem(rcParams, "savefig.facecolor", "red")
    (after, *_) = save(drawn(curves, "demo", records("demo")), tmp_path / "after")
    assert before.read_bytes() == after.read_bytes()


def test_more_records_give_another_picture(tmp_path: Path) -> None:
    (one, *_) = save(drawn(curves, "demo", records("demo")), tmp_path / "one")
    (other, *_) = save(drawn(curves, "demo", records("demo", method="er")), tmp_path / "other")
    assert one.read_bytes() != other.read_bytes()


def test_no_window_and_nothing_left_open(tmp_path: Path) -> None:
    save(drawn(curves, "demo", records("demo")), tmp_path / "figure")
    assert plt.get_fignums() == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        save(Figure(), tmp_path / "file" / "figure")

"""Figures: files with something on them."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from PIL import Image

from bison_ocl.errors import UserError
from bison_ocl.report.figures import curves, interplay
from bison_ocl.report.tables import rows
from tests.report.test_tables import BETTER, FORGOT, GOOD, record

RECORDS = [
    record("finetune", FORGOT),
    record("finetune", FORGOT, 1),
    record("er", GOOD),
    record("er", BETTER, 1),
]


def colours(path: Path) -> int:
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert min(image.size) > 400
        found = image.convert("RGB").getcolors(maxcolors=1 << 24)
    assert found
    return len(found)


@pytest.mark.parametrize("draw", [curves, interplay])
def test_a_figure_is_not_blank(draw: object, tmp_path: Path) -> None:
    assert callable(draw)
    path = tmp_path / "new" / "figure.png"
    draw(rows(RECORDS), path)
    assert colours(path) > 100
    assert plt.get_fignums() == []


def test_more_methods_put_more_on_it(tmp_path: Path) -> None:
    curves(rows(RECORDS[:2]), tmp_path / "one.png")
    curves(rows(RECORDS), tmp_path / "two.png")
    with Image.open(tmp_path / "one.png") as one, Image.open(tmp_path / "two.png") as two:
        assert one.tobytes() != two.tobytes()


def test_no_display_is_needed() -> None:
    assert mpl.get_backend().lower() == "agg"


@pytest.mark.parametrize("draw", [curves, interplay])
def test_a_place_that_cannot_be_written(draw: object, tmp_path: Path) -> None:
    assert callable(draw)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        draw(rows(RECORDS), tmp_path / "file" / "figure.png")
    assert plt.get_fignums() == []

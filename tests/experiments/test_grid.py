"""Grids: files of values, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from bison_ocl.errors import UserError
from bison_ocl.experiments.plan.grid import Grid, combinations, listed
from bison_ocl.experiments.plan.grid_file import values_in


def test_every_combination_comes_once_in_order() -> None:
    values = {"a": ["1", "2"], "b": ["x"], "c": ["3", "4"]}
    assert list(combinations(values, ["a", "c"])) == [
        (("a", "1"), ("c", "3")),
        (("a", "1"), ("c", "4")),
        (("a", "2"), ("c", "3")),
        (("a", "2"), ("c", "4")),
    ]
    assert list(combinations(values, [])) == [()]
    assert listed({"beta": "0.1, 0.2,0.1"}) == {"beta": ["0.1", "0.2"]}


def test_references_have_the_settings_that_fine_tune_reads() -> None:
    values = {"lr": ["0.1", "0.2"], "beta": ["1", "2"], "average": ["0.995"]}
    grid = Grid(["bison"], "split-digits", [10], values)
    assert len(grid.cells()) == 4, "an average only adds a readout, so any FINE-TUNE run serves"
    assert [dict(cell.settings) for cell in grid.references()] == [{"lr": "0.1"}, {"lr": "0.2"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("grid.toml", 'beta = [0.05, 1]\njoint = true\npal = "off"\n'),
        ("grid.json", '{"beta": [0.05, 1], "joint": true, "pal": ["off"]}'),
        ("grid.toml", '\ufeffbeta = [0.05, 1]\r\njoint = true\r\npal = "off"\r\n'),
        ("grid.json", '\ufeff{"beta": [0.05, 1],\r\n"joint": true, "pal": ["off"]}\r\n'),
    ],
)
def test_files(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert values_in(tmp_path / name) == {"beta": ["0.05", "1"], "joint": ["true"], "pal": ["off"]}


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("grid.yaml", "beta: [1]", "ends in .toml or .json"),
        ("grid.toml", "beta = ", "is not TOML"),
        ("grid.json", "[1", "is not JSON"),
        ("grid.json", "[1]", "expected values by setting"),
        ("grid.toml", "beta = [[1]]", r"beta holds \[1\]"),
        ("grid.toml", "[beta]\nx = 1", "beta holds {'x': 1}"),
        ("grid.toml", "beta = []", "beta has no values"),
    ],
)
def test_other_files_are_refused(name: str, text: str, part: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=part):
        values_in(tmp_path / name)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*grid.toml: No such .*; check the path"):
        values_in(tmp_path / "grid.toml")

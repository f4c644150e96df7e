"""The best setting of a sweep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bison_ocl.report.study.best import best_settings
from bison_ocl.report.study.entry import Entry
from bison_ocl.report.tables.layouts import overview
from tests.report.figures.charted import of


def validated(rate: float, accuracy: float) -> list[Entry]:
    """Runs of ER on validation images."""
    return [
        replace(
            one,
            settings={**one.settings, "lr": rate},
            data_options={"validate": 0.1},
            metrics=replace(one.metrics, AA=accuracy),
        )
        for one in of("demo")
        if one.method == "er"
    ]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (0.4, "best of 2 settings is lr=0.1, by mean validation AA 50.0"),
        (0.6, "best of 2 settings is lr=0.05, by mean validation AA 60.0"),
        (0.5, "best of 2 settings are lr=0.1 and, equally good, lr=0.05, by mean validation"),
    ],
)
def test_settings_that_are_equally_good_are_all_named(other: float, said: str) -> None:
    (line,) = best_settings([*validated(0.1, 0.5), *validated(0.05, other)])
    assert said in line


def test_means_that_differ_in_rounding_are_equally_good() -> None:
    one, other = validated(0.1, 0.5), validated(0.05, 0.5 + 1e-15)
    assert "are lr=0.1 and, equally good, lr=0.05" in best_settings([*one, *other])[0]


def test_a_setting_that_lacks_runs_is_not_the_best() -> None:
    tried = [*validated(0.1, 0.5), *validated(0.2, 0.4), *validated(0.05, 0.6)[:1]]
    (told,) = best_settings(tried)
    assert "best of 2 settings (1 other with fewer runs) is lr=0.1, by mean validation AA" in told


def test_every_memory_size_has_its_own_best() -> None:
    more = [replace(one, memory=200) for one in validated(0.05, 0.6)]
    assert best_settings([*validated(0.1, 0.5), *more]) == []


def test_settings_that_differ_in_late_digits_are_told_apart() -> None:
    tried = [*validated(0.12345671, 0.5), *validated(0.12345672, 0.4)]
    assert "best of 2 settings is lr=0.12345671, by" in best_settings(tried)[0]
    (table,) = overview("sweep", tried)
    assert len(table.rows) == 2

"""Thread counts are shown where compared runs differ in them, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from bison_ocl.report.formats.markdown import markdown
from bison_ocl.report.study.study import prepared
from bison_ocl.report.tables.layouts import tables
from bison_ocl.report.tables.overview import rows, show
from tests.report.records import records


def computed(threads: dict[str, int], **timing: Any) -> list[dict[str, Any]]:
    """Runs of the demo, each method with so many threads on a CPU."""
    found = []
    for one in records("generic", 2):
        times = {name: value for name, value in one["timing"].items() if name != "peak_MB"}
        number = threads[one["method"]] + one["seed"]
        environment = {**one["environment"], "threads": number, "device": "AMD EPYC"}
        found.append({**one, "timing": {**times, **timing}, "environment": environment})
    return found


def with_threads(finetune: int, er: int, bison: int, **timing: Any) -> list[dict[str, Any]]:
    found = computed({"finetune": finetune, "er": er, "bison": bison}, **timing)
    for one in found:
        one["environment"]["threads"] -= one["seed"]
    return found


def notes(found: list[dict[str, Any]]) -> list[str]:
    (table,) = tables("mine", prepared(found))
    return [note for note in table.notes if note.startswith("threads")]


def test_what_differs_is_in_the_table() -> None:
    (note,) = notes(with_threads(1, 1, 2))
    assert note.endswith("results depend: FINE-TUNE 1; ER 1; BISON 2")
    (table,) = tables("mine", prepared(with_threads(1, 1, 2)))
    assert "results depend: FINE-TUNE 1; ER 1; BISON 2" in markdown(table)


def test_seeds_of_one_method_may_differ() -> None:
    (note,) = notes(computed({"finetune": 1, "er": 1, "bison": 1}))
    assert note.endswith("FINE-TUNE 1, 2; ER 1, 2; BISON 1, 2")


def test_equal_counts_and_those_beside_a_gpu_are_not_worth_a_line() -> None:
    assert notes(with_threads(2, 2, 2)) == []
    assert notes(with_threads(1, 2, 16, peak_MB=100.0)) == []
    older = with_threads(1, 2, 16)
    for one in older:
        one["environment"]["device"] = "NVIDIA H200"
    assert notes(older) == []


def test_the_table_of_a_run_has_a_column_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    show(rows(with_threads(1, 1, 2)))
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["method", "data", "memory", "threads"]
    assert [line.split()[3] for line in lines] == ["1", "1", "2"]
    show(rows(with_threads(2, 2, 2)))
    assert "threads" not in capsys.readouterr().out

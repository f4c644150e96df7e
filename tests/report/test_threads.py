"""Thread counts are shown where compared runs differ in them, and only there."""

from __future__ import annotations

from dataclasses import replace

from bison_ocl.experiments.records.record import Record
from bison_ocl.report.formats.markdown import markdown
from bison_ocl.report.study.entry import prepared
from bison_ocl.report.tables.layouts import tables_of
from tests.report.records import records


def computed(threads: dict[str, int], by_seed: int = 1, device: str = "cpu") -> list[Record]:
    """Runs of the demo, each method with so many threads, and more with each seed."""
    found = []
    for one in records("generic", 2):
        number = threads[one.method] + by_seed * one.seed
        environment = replace(one.environment, threads=number, device_type=device)
        found.append(replace(one, environment=environment, precision="fp32"))
    return found


def with_threads(finetune: int, er: int, bison: int, device: str = "cpu") -> list[Record]:
    return computed({"finetune": finetune, "er": er, "bison": bison}, by_seed=0, device=device)


def notes(found: list[Record]) -> list[str]:
    (table,) = tables_of("mine", prepared(found))
    return [note for note in table.notes if "number of threads" in note]


def test_what_differs_is_in_the_table() -> None:
    (note,) = notes(with_threads(1, 1, 2))
    assert note.endswith("threads: FINE-TUNE 1; ER 1; BISON 2")
    (table,) = tables_of("mine", prepared(with_threads(1, 1, 2)))
    assert "number of threads: FINE-TUNE 1; ER 1; BISON 2" in markdown(table)


def test_seeds_of_one_method_may_differ() -> None:
    (note,) = notes(computed({"finetune": 1, "er": 1, "bison": 1}))
    assert note.endswith("FINE-TUNE 1, 2; ER 1, 2; BISON 1, 2")


def test_equal_counts_and_those_beside_a_gpu_are_not_worth_a_line() -> None:
    assert notes(with_threads(2, 2, 2)) == []
    assert notes(with_threads(1, 2, 16, device="cuda")) == []
